"""The verbs of the PostgreSQL store for keys, sessions and the audit log."""

from collections.abc import Collection
from datetime import timedelta

from tenure.core.errors import InvalidInput
from tenure.core.reports.access import AuditEntry, AuditRecord, HeldKey, Key, Keyring, NewKey, NewSession
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_NUMBER, LARGEST_PAGE, whole
from tenure.storage.mapping.access import (
    IDLE,
    audit_record_from,
    held_from,
    key_from,
    keyring_from,
    written_audit_entry,
    written_key,
    written_session,
)
from tenure.storage.postgres.database import Database


class Access(Database):
    """Keys, sessions and the audit log."""

    async def add_key(self, key: NewKey, entry: AuditEntry) -> None:
        made = await self._pool.run("add_key", **written_key(key), lifetime=key.lifetime, **_written(entry))
        if not made:
            raise InvalidInput("key", "has an id that is taken", "make another")

    async def revoke_key(self, key: str, entry: AuditEntry) -> bool:
        return bool(await self._pool.run("revoke_key", id=key, **_written(entry)))

    async def keys(self) -> list[Key]:
        return [key_from(row) for row in await self._pool.run("keys")]

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        return keyring_from(await self._pool.run("find_keys", ids=list(ids), idle=IDLE))

    async def use_keys(self, ids: Collection[str]) -> None:
        await self._pool.run("use_keys", ids=sorted(ids), idle=IDLE)

    async def begin_session(self, session: NewSession, entry: AuditEntry) -> bool:
        columns = {**written_session(session), "lifetime": session.lifetime}
        return bool(await self._pool.run("begin_session", **columns, **_written(entry)))

    async def find_session(self, digest: bytes) -> HeldKey | None:
        found = await self._pool.run("find_session", digest=digest, idle=IDLE)
        return held_from(found[0]) if found else None

    async def end_session(self, digest: bytes) -> None:
        await self._pool.run("end_session", digest=digest)

    async def begin_audit_entry(self, entry: AuditEntry) -> int:
        [row] = await self._pool.run("begin_deed", **_written(entry))
        n: int = row["n"]
        return n

    async def end_audit_entry(self, n: int, outcome: str) -> None:
        await self._pool.run("end_deed", n=n, outcome=outcome)

    async def audit_entries(
        self, *, before: int | None = None, limit: int = LARGEST_PAGE
    ) -> list[AuditRecord]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run(
            "deeds", before=LARGEST_NUMBER if before is None else before, limit=limit
        )
        return [audit_record_from(row) for row in found]

    async def prune_audit_entries(self, older_than: timedelta, limit: int) -> int:
        whole("limit", limit, 1, LARGEST_BATCH)
        return len(await self._pool.run("prune_deeds", older_than=older_than, limit=limit))


def _written(entry: AuditEntry) -> dict[str, object]:
    return {**written_audit_entry(entry), "request": entry.request}
