"""What a store keeps of access over HTTP, and how its rows become values; part of the storage contract."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID

import msgspec

from tenure.core.access import MOST_SESSIONS, Audited, Deed, HeldKey, Key, Keyring, NewKey, NewSession
from tenure.core.bounds import LARGEST_PAGE
from tenure.storage.values import Row

IDLE = timedelta(minutes=1)
"""How old the last use of a key on record may be before it is written down again."""

_names = msgspec.json.Decoder(tuple[str, ...]).decode


class AccessStore(Protocol):
    """The verbs about keys, about sessions and about what was done."""

    async def add_key(self, key: NewKey, deed: Deed) -> None:
        """Put a key on record, together with who did it. InvalidInput when its id is taken."""

    async def revoke_key(self, key: str, deed: Deed) -> bool:
        """Let a key open nothing from now on, and put on record who did it; False when it is unknown.

        One that was revoked before stays as it is.
        """

    async def keys(self) -> list[Key]:
        """Every key, revoked and expired ones too, by when it was made."""

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        """Those of the keys that open something now, as last committed, and whether there is any at all."""

    async def use_keys(self, ids: Collection[str]) -> None:
        """Put on record that keys were used now; of one that was so within the last minute nothing is."""

    async def begin_session(self, session: NewSession, deed: Deed) -> bool:
        """Put a session on record, together with who did it; False when its key opens nothing now.

        Sessions that are over are removed, and of the same key the oldest when it has a hundred.
        """

    async def find_session(self, digest: bytes) -> HeldKey | None:
        """The key of a session, as last committed; None unless both the session and the key hold now."""

    async def end_session(self, digest: bytes) -> None:
        """Let a session open nothing from now on. Ending one that is over, or unknown, is harmless."""

    async def begin_deed(self, deed: Deed) -> int:
        """Put on record what is about to be done; answers with its number."""

    async def end_deed(self, n: int, outcome: str) -> None:
        """Put on record how it ended. What was told before, or is unknown, stays as it is."""

    async def deeds(self, *, before: int | None = None, limit: int = LARGEST_PAGE) -> list[Audited]:
        """What was done, the latest first, from before a number on; at most 200."""

    async def prune_deeds(self, older_than: timedelta, limit: int) -> int:
        """Remove up to `limit` of those that are older; answers with how many."""


def written_key(key: NewKey) -> dict[str, object]:
    """The columns of a new key that are the same in both stores."""
    lists = {name: msgspec.json.encode(getattr(key, name)).decode() for name in _LISTS}
    return {"id": key.id, "digest": key.digest, "name": key.name, "namespace": key.namespace, **lists}


def written_session(session: NewSession) -> dict[str, object]:
    """The columns of a new session that are the same in both stores."""
    return {"digest": session.digest, "holder": session.key, "most": MOST_SESSIONS}


def written_deed(deed: Deed) -> dict[str, object]:
    """The columns of a deed that are the same in both stores."""
    return {"key": deed.key, "who": deed.who, "action": deed.action, "target": deed.target}


def key_from(row: Row) -> Key:
    """A row of `keys`."""
    return Key(**_key_columns(row), **{name: row[name] for name in _TIMES})


def keyring_from(rows: Collection[Row]) -> Keyring:
    """The rows of `find_keys`: those without an id only say that there are keys."""
    return Keyring(tuple(held_from(row) for row in rows if row["key"] is not None), bool(rows))


def held_from(row: Row) -> HeldKey:
    """A row of `find_session`, or of `find_keys` where that has an id."""
    return HeldKey(**_key_columns(row), digest=bytes(row["digest"]), was_idle=bool(row["was_idle"]))


def audited_from(row: Row) -> Audited:
    """A row of `deeds`."""
    request = row["request"]
    deed = Deed(
        key=row["key"],
        who=row["who"],
        action=row["action"],
        target=row["target"],
        request=request if isinstance(request, UUID) else UUID(request),
    )
    return Audited(n=row["n"], at=row["at"], deed=deed, outcome=row["outcome"])


def _key_columns(row: Row) -> dict[str, Any]:
    lists = {name: _names(row[name]) for name in _LISTS}
    return {"id": row["key"], "name": row["name"], "namespace": row["namespace"], **lists}


_LISTS = ("scopes", "definitions", "queues")
_TIMES = ("created_at", "expires_at", "revoked_at", "last_used_at")
