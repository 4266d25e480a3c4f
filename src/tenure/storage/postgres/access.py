"""The verbs of the PostgreSQL store about keys, about sessions and about what was done."""

from collections.abc import Collection
from datetime import timedelta

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
from tenure.storage.postgres.pool import Pool


class Access:
    """Keys, sessions and deeds."""

    _pool: Pool

    async def add_key(self, key: NewKey, deed: Deed) -> None:
        made = await self._pool.run("add_key", **written_key(key), lifetime=key.lifetime, **_written(deed))
        if not made:
            raise InvalidInput("key", "has an id that is taken", "make another")

    async def revoke_key(self, key: str, deed: Deed) -> bool:
        return bool(await self._pool.run("revoke_key", id=key, **_written(deed)))

    async def keys(self) -> list[Key]:
        return [key_from(row) for row in await self._pool.run("keys")]

    async def find_keys(self, ids: Collection[str]) -> Keyring:
        return keyring_from(await self._pool.run("find_keys", ids=list(ids), idle=IDLE))

    async def use_keys(self, ids: Collection[str]) -> None:
        await self._pool.run("use_keys", ids=sorted(ids), idle=IDLE)

    async def begin_session(self, session: NewSession, deed: Deed) -> bool:
        columns = {**written_session(session), "lifetime": session.lifetime}
        return bool(await self._pool.run("begin_session", **columns, **_written(deed)))

    async def find_session(self, digest: bytes) -> HeldKey | None:
        found = await self._pool.run("find_session", digest=digest, idle=IDLE)
        return held_from(found[0]) if found else None

    async def end_session(self, digest: bytes) -> None:
        await self._pool.run("end_session", digest=digest)

    async def begin_deed(self, deed: Deed) -> int:
        [row] = await self._pool.run("begin_deed", **_written(deed))
        n: int = row["n"]
        return n

    async def end_deed(self, n: int, outcome: str) -> None:
        await self._pool.run("end_deed", n=n, outcome=outcome)

    async def deeds(self, *, before: int | None = None, limit: int = LARGEST_PAGE) -> list[Audited]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run(
            "deeds", before=LARGEST_NUMBER if before is None else before, limit=limit
        )
        return [audited_from(row) for row in found]

    async def prune_deeds(self, older_than: timedelta, limit: int) -> int:
        whole("limit", limit, 1, LARGEST_BATCH)
        return len(await self._pool.run("prune_deeds", older_than=older_than, limit=limit))


def _written(deed: Deed) -> dict[str, object]:
    return {**written_deed(deed), "request": deed.request}
