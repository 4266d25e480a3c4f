"""The verbs of the SQLite store about keys, sessions and the audit log."""

from collections.abc import Collection
from datetime import timedelta

import apsw
import msgspec

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
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database


class Access(Database):
    """Keys, sessions and the audit log."""

    async def add_key(self, key: NewKey, entry: AuditEntry) -> None:
        columns = {**written_key(key), "lifetime": rows.duration(key.lifetime)}

        def add(connection: apsw.Connection, turn: TransactionTime) -> bool:
            made = self._scripts.one(connection, "add_key", now=turn.now, **columns)
            return bool(made) and self._note(connection, turn, entry)

        if not await self._writer.run(add):
            raise InvalidInput("key", "has an id that is taken", "make another key")

    async def revoke_key(self, key: str, entry: AuditEntry) -> bool:
        def revoke(connection: apsw.Connection, turn: TransactionTime) -> bool:
            revoked = self._scripts.one(connection, "revoke_key", now=turn.now, id=key)
            return bool(revoked) and self._note(connection, turn, entry)

        return await self._writer.run(revoke)

    async def keys(self) -> list[Key]:
        return await self._read("keys", key_from)

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        found = await self._read("find_keys", dict, ids=_written(ids), idle=rows.duration(IDLE))
        return keyring_from(found)

    async def use_keys(self, ids: Collection[str]) -> None:
        await self._write("use_keys", ids=_written(ids), idle=rows.duration(IDLE))

    async def begin_session(self, session: NewSession, entry: AuditEntry) -> bool:
        columns = {**written_session(session), "lifetime": rows.duration(session.lifetime)}

        def begin(connection: apsw.Connection, turn: TransactionTime) -> bool:
            begun = self._scripts.run(connection, "begin_session", now=turn.now, **columns)
            return bool(begun) and self._note(connection, turn, entry)

        return await self._writer.run(begin)

    async def find_session(self, digest: bytes) -> HeldKey | None:
        found = await self._read("find_session", held_from, digest=digest, idle=rows.duration(IDLE))
        return found[0] if found else None

    async def end_session(self, digest: bytes) -> None:
        await self._write("end_session", digest=digest)

    async def begin_audit_entry(self, entry: AuditEntry) -> int:
        [row] = await self._write(
            "begin_deed", **written_audit_entry(entry), request=str(entry.request), outcome=None
        )
        n: int = row["n"]
        return n

    async def end_audit_entry(self, n: int, outcome: str) -> None:
        await self._write("end_deed", n=n, outcome=outcome)

    async def audit_entries(
        self, *, before: int | None = None, limit: int = LARGEST_PAGE
    ) -> list[AuditRecord]:
        whole("limit", limit, 1, LARGEST_PAGE)
        last = LARGEST_NUMBER if before is None else before
        return await self._read("deeds", audit_record_from, before=last, limit=limit)

    async def prune_audit_entries(self, older_than: timedelta, limit: int) -> int:
        whole("limit", limit, 1, LARGEST_BATCH)
        [row] = await self._run("prune_deeds", older_than=rows.duration(older_than), limit=limit)
        pruned: int = row["pruned"]
        return pruned

    def _note(self, connection: apsw.Connection, turn: TransactionTime, entry: AuditEntry) -> bool:
        """Put an audit entry on record that is done in the same transaction."""
        told = {**written_audit_entry(entry), "request": str(entry.request), "outcome": "done"}
        self._scripts.one(connection, "begin_deed", now=turn.now, **told)
        return True


def _written(ids: Collection[str]) -> str:
    return msgspec.json.encode(sorted(ids)).decode()
