"""The verbs of a store about keys, sessions and the audit log; part of the storage contract.

They are a port of their own beside the client: authentication and audit call them directly.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from tenure.core.reports.access import AuditEntry, AuditRecord, HeldKey, Key, Keyring, NewKey, NewSession
from tenure.core.values.bounds import LARGEST_PAGE


class AccessStore(Protocol):
    """The verbs about keys, sessions and the audit log."""

    async def add_key(self, key: NewKey, entry: AuditEntry) -> None:
        """Store a key and its audit entry. Raises InvalidInput when its id is taken."""

    async def revoke_key(self, key: str, entry: AuditEntry) -> bool:
        """Revoke a key and store the audit entry; False when the key is unknown.

        A key that was revoked before stays as it is.
        """

    async def keys(self) -> list[Key]:
        """Every key, revoked and expired ones too, in the order of creation."""

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        """Those of the keys that are valid now, as last committed, and whether there is any key at all."""

    async def use_keys(self, ids: Collection[str]) -> None:
        """Store that keys were used now, unless a key has such a mark from within the last minute."""

    async def begin_session(self, session: NewSession, entry: AuditEntry) -> bool:
        """Store a session and its audit entry; False when its key is not valid now.

        Removes expired sessions, and the oldest of the same key when that has a hundred.
        """

    async def find_session(self, digest: bytes) -> HeldKey | None:
        """The key of a session, as last committed; None unless both are valid now."""

    async def end_session(self, digest: bytes) -> None:
        """End a session. Ending one that is over, or unknown, is harmless."""

    async def begin_audit_entry(self, entry: AuditEntry) -> int:
        """Store what is about to be done; returns its number."""

    async def end_audit_entry(self, n: int, outcome: str) -> None:
        """Store how it ended. An entry that has an outcome, or is unknown, stays as it is."""

    async def audit_entries(
        self, *, before: int | None = None, limit: int = LARGEST_PAGE
    ) -> list[AuditRecord]:
        """Audit entries below a number, the latest first; at most 200."""

    async def prune_audit_entries(self, older_than: timedelta, limit: int) -> int:
        """Remove up to `limit` entries that are older; returns how many."""
