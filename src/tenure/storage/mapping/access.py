"""Between keys, sessions and audit entries and the columns that both stores have in common."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from tenure.core.reports.access import (
    MOST_SESSIONS,
    AuditEntry,
    AuditRecord,
    HeldKey,
    Key,
    Keyring,
    NewKey,
    NewSession,
)
from tenure.storage.mapping.values import Row

IDLE = timedelta(minutes=1)
"""How old the recorded last use of a key may be before it is written again."""

_LISTS = ("scopes", "definitions", "queues")
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")
_names = msgspec.json.Decoder(tuple[str, ...]).decode


def written_key(key: NewKey) -> dict[str, object]:
    """The columns of a new key that are the same in both stores."""
    lists = {name: msgspec.json.encode(getattr(key, name)).decode() for name in _LISTS}
    return {"id": key.id, "digest": key.digest, "name": key.name, "namespace": key.namespace, **lists}


def written_session(session: NewSession) -> dict[str, object]:
    """The columns of a new session that are the same in both stores."""
    return {"digest": session.digest, "holder": session.key, "most": MOST_SESSIONS}


def written_audit_entry(entry: AuditEntry) -> dict[str, object]:
    """The columns of an audit entry that are the same in both stores."""
    return {"key": entry.key, "who": entry.who, "action": entry.action, "target": entry.target}


def key_from(row: Row) -> Key:
    """A row of `keys`."""
    return Key(**_key_columns(row), **{name: row[name] for name in _TIMES})


def keyring_from(rows: Collection[Row]) -> Keyring:
    """The rows of `find_keys`: a row without an id only says that there are keys."""
    return Keyring(tuple(held_from(row) for row in rows if row["key"] is not None), bool(rows))


def held_from(row: Row) -> HeldKey:
    """A row of `find_session`, or of `find_keys` with an id."""
    return HeldKey(**_key_columns(row), digest=bytes(row["digest"]), was_idle=bool(row["was_idle"]))


def audit_record_from(row: Row) -> AuditRecord:
    """A row of the audit log."""
    request = row["request"]
    entry = AuditEntry(
        key=row["key"],
        who=row["who"],
        action=row["action"],
        target=row["target"],
        request=request if isinstance(request, UUID) else UUID(request),
    )
    return AuditRecord(n=row["n"], at=row["at"], entry=entry, outcome=row["outcome"])


def _key_columns(row: Row) -> dict[str, Any]:
    lists = {name: _names(row[name]) for name in _LISTS}
    return {"id": row["key"], "name": row["name"], "namespace": row["namespace"], **lists}
