"""A store that has no room: nothing is promised, the caller is told when to come back, and it goes on."""

import asyncio
from pathlib import Path

import asyncpg

from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend
from tests.storage.faults.disks import small_disk
from tests.storage.faults.sqlite_stores import opened
from tests.storage.verbs import EVERY_JOB
from tests.surfaces.http.http_server import Api, Reply, register, serving
from tests.surfaces.store_behind import MAIL
from tests.until import until

BODY = {"definitionKey": "mail", "params": {"to": "x" * 9000}}


def is_unavailable(reply: Reply) -> bool:
    """Whether a reply says that the store is away, and when to come back."""
    return (reply.status, reply.kind) == (503, "storage-unavailable") and int(
        reply.headers["retry-after"]
    ) > 0


async def made(api: Api) -> int:
    """How many jobs were promised before the first that could not be."""
    count = 0
    while (reply := await api.post("/v1/jobs", BODY)).status == 202:
        count += 1
    assert is_unavailable(reply)
    return count


async def until_ready(api: Api) -> None:
    async def is_ready() -> bool:
        return (await api.get("/readyz")).status == 200

    await until(is_ready)


async def test_on_a_full_disk_nothing_is_promised(tmp_path: Path) -> None:
    """Row 36: what was answered with 202 is there, and nothing else."""
    with small_disk(tmp_path, "capped") as disk:
        async with opened(tmp_path / "tenure.db") as store, serving(store) as api:
            await register(store, MAIL)
            await disk.fill(store)
            promised = await made(api)
            wish = {"jobType": "mail", "payload": BODY["params"], "idempotencyKey": "k"}
            assert is_unavailable(await api.post("/jobs", wish))
            assert len((await store.page(EVERY_JOB, limit=200)).jobs) == promised
            await disk.make_room(store)
            assert (await api.post("/v1/jobs", BODY)).status == 202


async def test_while_every_connection_is_taken_nothing_is_promised(postgres_server: PostgresServer) -> None:
    """Row 36: five wait for one connection, which waits for a lock."""
    backend = PostgresBackend(postgres_server)
    await backend.prepare()
    store = PostgresStore(backend.dsn, connections=1, timeout=2.0, notify=False)
    await store.open()
    foreign: asyncpg.Connection = await backend.connect()
    try:
        await register(store, MAIL)
        async with serving(store) as api:
            await foreign.execute("BEGIN; LOCK TABLE tenure.job IN ACCESS EXCLUSIVE MODE")
            replies = await asyncio.gather(
                *(api.post("/v1/jobs", {"definitionKey": "mail"}) for _ in range(5))
            )
            await foreign.execute("ROLLBACK")
            assert all(map(is_unavailable, replies)), replies
            await until_ready(api)
            assert (await api.post("/v1/jobs", {"definitionKey": "mail"})).status == 202
            assert not api.bugs
    finally:
        await foreign.close()
        await store.close()
        await backend.dispose()
