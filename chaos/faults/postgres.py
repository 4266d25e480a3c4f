"""Faults of PostgreSQL: stopped at once, its sessions ended, its rows locked by somebody who then idles."""

import asyncio
import time
from contextlib import suppress
from random import Random

import asyncpg

from chaos.evidence import Outage
from chaos.faults.fault import Fault, Strike
from chaos.faults.workers import kill
from chaos.load import Wanted
from chaos.scene import Scene

_LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)


async def restart(scene: Scene, random: Random) -> list[Strike]:
    """Stop the server as a crash would, and start it again after a while."""
    down = random.choice((0.0, random.uniform(0.1, 2.0)))
    return [await _restarted(scene, "restart", down)]


async def restart_reaping(scene: Scene, random: Random) -> list[Strike]:
    """Kill a worker, and stop the server at the moment when its jobs are being taken back."""
    struck = await kill(scene, random)
    await asyncio.sleep(scene.staff.config.lease * random.uniform(0.8, 1.02))
    return [*struck, await _restarted(scene, "restart-reaping", random.uniform(0.0, 0.5))]


async def terminate(scene: Scene, random: Random) -> list[Strike]:
    """End some sessions of the database's, those that listen among them."""
    at = time.monotonic()
    with suppress(*_LOST):
        connection = await asyncpg.connect(scene.ground.direct)
        try:
            pids = [
                row["pid"]
                for row in await connection.fetch(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )
            ]
            ended = [
                await connection.fetchval("SELECT pg_terminate_backend($1)", pid)
                for pid in random.sample(pids, min(len(pids), max(1, len(pids) // 3)))
            ]
        finally:
            await connection.close()
        return [Strike(fault="terminate", began=at, ended=time.monotonic())] if any(ended) else []
    return []


async def hold(scene: Scene, random: Random) -> list[Strike]:
    """Lock rows of jobs in a transaction that then does nothing for a while."""
    at = time.monotonic()
    with suppress(*_LOST):
        connection = await asyncpg.connect(scene.ground.direct)
        try:
            async with connection.transaction():
                locked = await connection.fetch(
                    "SELECT id FROM tenure.job_state WHERE finished_at IS NULL ORDER BY random() LIMIT 20"
                    " FOR UPDATE SKIP LOCKED"
                )
                await asyncio.sleep(random.uniform(0.5, 2.5))
        finally:
            with suppress(*_LOST):
                await connection.close()
        return [Strike(fault="hold", began=at, ended=time.monotonic())] if locked else []
    return []


async def _restarted(scene: Scene, fault: str, down: float) -> Strike:
    server = scene.ground.server
    assert server is not None  # noqa: S101
    async with scene.restarting:
        await _leave_work(scene)
        began = time.monotonic()
        await asyncio.to_thread(server.stop_at_once)
        await asyncio.sleep(down)
        await asyncio.to_thread(server.start_again)
        ended = time.monotonic()
        scene.outages.append(Outage(began, ended))
        await asyncio.sleep(1.0)  # a worker is to come to itself before the next one
    return Strike(fault=fault, began=began, ended=ended, what=f"{down:.1f} s down")


async def _leave_work(scene: Scene) -> None:
    """Jobs that will be due when the server is back: by the first claim one sees how soon somebody works."""
    scene.extra += 1
    wanted = [Wanted(f"after-{scene.extra}-{n}", "noop", {}, delay=0.15) for n in range(4)]
    with suppress(TimeoutError):
        async with asyncio.timeout(2):
            await scene.client.enqueue(wanted, batch=True)


FAULTS = (
    Fault(
        name="restart",
        number="F8",
        act=restart,
        what="PostgreSQL is stopped at once and is away for up to 2 s",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=2.5,
    ),
    Fault(
        name="restart-reaping",
        number="F9",
        act=restart_reaping,
        what="the same at the moment when jobs of a killed worker are taken back",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=4.0,
        counters=("rescue",),
    ),
    Fault(
        name="terminate",
        number="F10",
        act=terminate,
        what="a third of the sessions are ended by `pg_terminate_backend`",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=0.7,
    ),
    Fault(
        name="hold",
        number="F11",
        act=hold,
        what="somebody locks rows of up to twenty jobs under way and then idles in his transaction",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=1.5,
    ),
)
