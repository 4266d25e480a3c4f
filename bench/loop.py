"""The loop of a worker on a real store: each turn settles the batch before it and claims the next one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from bench.figures import Round
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Report, Succeeded
from tenure.core.values.documents import Document
from tenure.engine.worker.gc_tuning import tune_gc
from tenure.storage.contract.store import Store

T = TypeVar("T")
Work = Callable[[Store], Awaitable["Round"]]
"""One round of work on an open store."""

Loops = Callable[[], asyncio.AbstractEventLoop] | None
"""What makes an event loop; None for asyncio's own, which is what the product runs on."""

WORKER = "bench"
LINE = Line("default", "bench")
PARAMS_BYTES = 200
PARAMS = Document('{"text":"' + "x" * (PARAMS_BYTES - 11) + '"}')
JOB = NewJob(definition=LINE.definition, queue=LINE.queue, params=PARAMS)
FILL_BATCH = 1_000
FILL_CALLERS = 4
LONGEST_ROUND = 300
"""Seconds after which a round that hangs is given up."""


def run_on(loops: Loops, work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on an event loop of its own, as a worker would, within the time of one round."""
    tune_gc()
    with asyncio.Runner(loop_factory=loops) as runner:
        return runner.run(_bounded(work))


async def turns(store: Store, *, batch: int, count: int, lines: tuple[Line, ...] = (LINE,)) -> Round:
    """So many turns in a row; the last batch is settled after the clock has stopped."""
    order = replace(_order(batch), lines=lines)
    reports: list[Report] = []
    settled = 0
    least = batch
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        turn = await store.settle_and_claim(reports, order)
        settled += len(turn.settled.accepted)
        reports = [Report(claimed.lease, Succeeded()) for claimed in turn.claimed]
        least = min(least, len(reports))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    settled += await _settle(store, reports)
    if settled != count * batch:
        claimed = f"a claim had {least} jobs of {batch}" if least < batch else "all claims were full"
        raise RuntimeError(
            f"the loop on {type(store).__name__} settled {settled:,} jobs of {count * batch:,}; {claimed}"
        )
    return Round(count * batch, seconds, cpu)


async def level_turns(store: Store, *, batch: int, count: int, within: float = LONGEST_ROUND) -> Round:
    """Turns with the backlog kept as it is: each is followed by enqueuing as many jobs, which is not timed.

    Ends after `count` turns or, once the time is up, before.
    """
    order, fresh = _order(batch), [JOB] * batch
    reports: list[Report] = []
    claimed = settled = 0
    seconds = cpu = 0.0
    until = time.monotonic() + within
    for _ in range(count):
        began, cpu_began = time.perf_counter(), time.process_time()
        turn = await store.settle_and_claim(reports, order)
        reports = [Report(owned.lease, Succeeded()) for owned in turn.claimed]
        cpu += time.process_time() - cpu_began
        seconds += time.perf_counter() - began
        claimed += len(reports)
        settled += len(turn.settled.accepted)
        await store.enqueue(fresh)
        if time.monotonic() > until:
            break
    settled += await _settle(store, reports)
    _expect(settled, claimed)
    return Round(claimed, seconds, cpu)


async def fill(store: Store, jobs: int, *, batch: int = FILL_BATCH, callers: int = FILL_CALLERS) -> Round:
    """Enqueue so many jobs, in large batches from a few callers at once."""
    left = [batch] * (jobs // batch) + ([jobs % batch] if jobs % batch else [])
    began, cpu = time.perf_counter(), time.process_time()

    async def caller() -> None:
        while left:
            await store.enqueue([JOB] * left.pop())

    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(caller())
    return Round(jobs, time.perf_counter() - began, time.process_time() - cpu)


async def drain(store: Store, *, batch: int) -> int:
    """Turns until nothing is left in line; answers with how many jobs were settled."""
    settled, reports = 0, list[Report]()
    while True:
        turn = await store.settle_and_claim(reports, _order(batch))
        settled += len(turn.settled.accepted)
        reports = [Report(claimed.lease, Succeeded()) for claimed in turn.claimed]
        if not reports:
            return settled


async def round_trips(store: Store, count: int) -> Round:
    """Ask the store for nothing but the time, again and again."""
    await store.now()
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        await store.now()
    return Round(count, time.perf_counter() - began, time.process_time() - cpu)


def _order(limit: int) -> Order:
    return Order(worker=WORKER, lines=(LINE,), limit=limit)


async def _settle(store: Store, reports: list[Report]) -> int:
    return len((await store.settle_and_claim(reports, _order(0))).settled.accepted)


def _expect(settled: int, wanted: int) -> None:
    if settled != wanted:
        raise RuntimeError(f"the loop settled {settled:,} jobs of {wanted:,}")


async def _bounded(work: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(LONGEST_ROUND):
        return await work
