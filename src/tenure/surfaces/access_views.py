"""Keys, and what was done by whom, as operators see them: objects in camelCase."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.core.access import Audited, Key


class MadeKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """A key that was made just now."""

    key_id: str
    key: str


class KeyItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A key as it is on record."""

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
    """Something that was done, or was to be: without an outcome nobody lived to tell it."""

    at: datetime
    who: str
    key_id: str | None
    action: str
    target: str
    request_id: UUID
    outcome: str | None


class AuditPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of what was done, the latest first."""

    items: Sequence[AuditItem]
    next_cursor: str | None


def key_item(key: Key) -> KeyItem:
    """A key, without what would open anything."""
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


def audit_item(one: Audited) -> AuditItem:
    """What was done."""
    return AuditItem(
        at=one.at,
        who=one.deed.who,
        key_id=one.deed.key,
        action=one.deed.action,
        target=one.deed.target,
        request_id=one.deed.request,
        outcome=one.outcome,
    )
