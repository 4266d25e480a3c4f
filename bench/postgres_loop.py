"""Rounds on PostgreSQL through the real store, each with connections of its own."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import asyncpg
from msgspec.structs import replace

from bench import loop
from bench.figures import Round
from bench.loop import JOB, Loops, Work, run_on
from bench.postgres import Database
from tenure.core.model.job import Enqueued, NewJob
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore


class Footprint(NamedTuple):
    """What a whole life costs, in bytes for each job."""

    enqueue_wal: float
    turn_wal: float
    disk: float


class OneCommitEach(PostgresStore):
    """The store's own statements without the company: every call of `enqueue` is a statement of its own."""

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await self._enqueue(jobs)


def turns(database: Database, *, batch: int, turns: int, loops: Loops = None) -> Round:
    """Settle and claim from the stock."""
    database.take(batch * turns)
    return timed(database, lambda store: loop.turns(store, batch=batch, count=turns), loops=loops)


def level_turns(database: Database, *, batch: int, turns: int, within: float = loop.LONGEST_ROUND) -> Round:
    """Settle and claim while the stock is kept as large as it is. The server's CPU is not told apart."""
    round_ = timed(database, lambda store: loop.level_turns(store, batch=batch, count=turns, within=within))
    return replace(round_, server_cpu=None)


def single_enqueues(database: Database, *, calls: int, callers: int, together: bool) -> Round:
    """Many callers at once, one job a call; `together` as the store does it, else with a commit each."""
    store = PostgresStore(database.dsn) if together else OneCommitEach(database.dsn)
    return timed(
        database, lambda opened: loop.fill(opened, calls, batch=1, callers=callers), store=store, warm=callers
    )


def bulk_enqueues(database: Database, jobs: int) -> Round:
    """As many jobs a second as a few callers can bring in large batches."""
    return timed(database, lambda store: loop.fill(store, jobs))


def round_trips(database: Database, count: int) -> Round:
    """How long it takes to ask for nothing."""
    return timed(database, lambda store: loop.round_trips(store, count))


def footprint(database: Database, *, jobs: int, batch: int) -> Footprint:
    """Enqueue, claim and settle so many jobs in an empty database, all in batches; weigh what that leaves."""
    database.tidy()
    start = database.wal_position()
    timed(database, lambda store: loop.fill(store, jobs, batch=batch, callers=1))
    enqueued = database.wal_position()
    timed(database, lambda store: _drained(store, jobs, batch))
    settled = database.wal_position()
    return Footprint(
        enqueue_wal=(enqueued - start) / jobs,
        turn_wal=(settled - enqueued) / jobs,
        disk=database.size() / jobs - len(JOB.params),
    )


@contextmanager
def held_snapshot(database: Database) -> Iterator[None]:
    """A transaction that was left open: while it lives, no row that it could see is cleaned up."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(database.dsn))
        runner.run(connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ"))
        runner.run(connection.execute("SELECT count(*) FROM tenure.line"))
        try:
            yield
        finally:
            runner.run(connection.close())


async def _drained(store: Store, jobs: int, batch: int) -> Round:
    began = time.perf_counter()
    settled = await loop.drain(store, batch=batch)
    if settled != jobs:
        raise RuntimeError(f"of {jobs:,} jobs {settled:,} were settled")
    return Round(settled, time.perf_counter() - began)


def timed(
    database: Database,
    work: Work,
    *,
    loops: Loops = None,
    store: PostgresStore | None = None,
    warm: int = 0,
) -> Round:
    """One round with the server's CPU added; connecting is not part of it."""

    async def round_() -> Round:
        opened = store or database.store()
        await opened.open()
        try:
            if warm:
                await loop.fill(opened, warm, batch=1, callers=warm)
            before = database.postgres.cpu()
            done = await work(opened)
            after = database.postgres.cpu()
        finally:
            await opened.close()
        spent = None if before is None or after is None else after - before
        return replace(done, server_cpu=spent)

    return run_on(loops, round_())
