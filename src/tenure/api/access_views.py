"""Keys and audit entries as operators see them: objects in camelCase."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.core.reports.access import AuditRecord, Key


class MadeKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """A key that was just created."""

    key_id: str
    key: str


class KeyItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A stored key."""

    key_id: str
    name: str
    scopes: tuple[str, ...]
    definitions: tuple[str, ...]
    queues: tuple[str, ...]
    namespace: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class AuditItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An audit entry. It has no outcome if the process ended before it could record one."""

    at: datetime
    who: str
    key_id: str | None
    action: str
    target: str
    request_id: UUID
    outcome: str | None


class AuditPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of audit entries, the latest first."""

    items: Sequence[AuditItem]
    next_cursor: str | None


def key_item(key: Key) -> KeyItem:
    """A key, without its secret."""
    return KeyItem(
        key_id=key.id,
        name=key.name,
        scopes=key.scopes,
        definitions=key.definitions,
        queues=key.queues,
        namespace=key.namespace,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
    )


def audit_item(record: AuditRecord) -> AuditItem:
    """An audit entry."""
    entry = record.entry
    return AuditItem(
        at=record.at,
        who=entry.who,
        key_id=entry.key,
        action=entry.action,
        target=entry.target,
        request_id=entry.request,
        outcome=record.outcome,
    )
