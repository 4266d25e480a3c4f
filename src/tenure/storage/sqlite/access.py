"""The verbs of the SQLite store about keys, about sessions and about what was done."""

from collections.abc import Collection
from datetime import timedelta

import apsw
import msgspec

from tenure.core.access import Audited, Deed, HeldKey, Key, Keyring, NewKey, NewSession
from tenure.core.bounds import LARGEST_BATCH, LARGEST_NUMBER, LARGEST_PAGE, whole
from tenure.core.errors import InvalidInput
from tenure.storage.access import (
    IDLE,
    audited_from,
    held_from,
    key_from,
    keyring_from,
    written_deed,
    written_key,
    written_session,
)
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.clock import Turn
from tenure.storage.sqlite.database import Database


class Access(Database):
    """Keys, sessions and deeds."""

    async def add_key(self, key: NewKey, deed: Deed) -> None:
        columns = {**written_key(key), "lifetime": rows.duration(key.lifetime)}

        def add(connection: apsw.Connection, turn: Turn) -> bool:
            made = self._scripts.one(connection, "add_key", now=turn.now, **columns)
            return bool(made) and self._note(connection, turn, deed)

        if not await self._writer.run(add):
            raise InvalidInput("key", "has an id that is taken", "make another")

    async def revoke_key(self, key: str, deed: Deed) -> bool:
        def revoke(connection: apsw.Connection, turn: Turn) -> bool:
            revoked = self._scripts.one(connection, "revoke_key", now=turn.now, id=key)
            return bool(revoked) and self._note(connection, turn, deed)

        return await self._writer.run(revoke)

    async def keys(self) -> list[Key]:
        return await self._read("keys", key_from)

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        found = await self._read("find_keys", dict, ids=_written(ids), idle=rows.duration(IDLE))
        return keyring_from(found)

    async def use_keys(self, ids: Collection[str]) -> None:
        await self._write("use_keys", ids=_written(ids), idle=rows.duration(IDLE))

    async def begin_session(self, session: NewSession, deed: Deed) -> bool:
        columns = {**written_session(session), "lifetime": rows.duration(session.lifetime)}

        def begin(connection: apsw.Connection, turn: Turn) -> bool:
            begun = self._scripts.run(connection, "begin_session", now=turn.now, **columns)
            return bool(begun) and self._note(connection, turn, deed)

        return await self._writer.run(begin)

    async def find_session(self, digest: bytes) -> HeldKey | None:
        found = await self._read("find_session", held_from, digest=digest, idle=rows.duration(IDLE))
        return found[0] if found else None

    async def end_session(self, digest: bytes) -> None:
        await self._write("end_session", digest=digest)

    async def begin_deed(self, deed: Deed) -> int:
        [row] = await self._write("begin_deed", **written_deed(deed), request=str(deed.request), outcome=None)
        n: int = row["n"]
        return n

    async def end_deed(self, n: int, outcome: str) -> None:
        await self._write("end_deed", n=n, outcome=outcome)

    async def deeds(self, *, before: int | None = None, limit: int = LARGEST_PAGE) -> list[Audited]:
        whole("limit", limit, 1, LARGEST_PAGE)
        last = LARGEST_NUMBER if before is None else before
        return await self._read("deeds", audited_from, before=last, limit=limit)

    async def prune_deeds(self, older_than: timedelta, limit: int) -> int:
        whole("limit", limit, 1, LARGEST_BATCH)
        [row] = await self._run("prune_deeds", older_than=rows.duration(older_than), limit=limit)
        pruned: int = row["pruned"]
        return pruned

    def _note(self, connection: apsw.Connection, turn: Turn, deed: Deed) -> bool:
        """Put a deed on record that is done in the same transaction."""
        told = {**written_deed(deed), "request": str(deed.request), "outcome": "done"}
        self._scripts.one(connection, "begin_deed", now=turn.now, **told)
        return True


def _written(ids: Collection[str]) -> str:
    return msgspec.json.encode(sorted(ids)).decode()
