"""A worker that meets a damaged row: one job is put aside, all others go on."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.errors import StoreRefused
from tenure.core.model.aside import Aside, Met
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.model.trail import CUSTOM
from tenure.core.signals import AttemptLost, JobPutAside, Troubled
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.until import until
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import RunningWorker, appear, enqueue, reach, run_worker

pytestmark = pytest.mark.both_stores

NEIGHBOURS = 19
SHUT = {
    True: (
        "CREATE TRIGGER shut BEFORE INSERT ON tenure.aside BEGIN SELECT RAISE(ABORT, 'shut'); END",
        "DROP TRIGGER shut",
    ),
    False: (
        "ALTER TABLE tenure.aside ADD CONSTRAINT shut CHECK (false) NOT VALID",
        "ALTER TABLE tenure.aside DROP CONSTRAINT shut",
    ),
}
"""How nothing can be put aside on SQLite or else on PostgreSQL, and how it can again."""


async def waiting(store: Store, folder: Path, number: int, **options: Any) -> list[UUID]:
    """Jobs that run until a file lets all of them end."""
    begun = [folder / f"begun-{number}-{n}" for n in range(number)]
    jobs = [
        await enqueue(store, "wait", {"begun": str(path), "end": str(folder / "end")}, **options)
        for path in begun
    ]
    await asyncio.gather(*(appear(path) for path in begun))
    return jobs


async def put_aside(running: RunningWorker, job: UUID) -> Aside:
    """What the worker announced of a job that it put aside."""
    await until(lambda: any(one.aside.job == job for one in running.signals(JobPutAside)))
    [found] = [one.aside for one in running.signals(JobPutAside) if one.aside.job == job]
    aside: Aside = found
    return aside


@pytest.mark.parametrize("made", list(damaged_rows.HARMS))
async def test_one_wrong_row_stops_nobody_else(store: Store, address: str, tmp_path: Path, made: str) -> None:
    """Nineteen neighbours settle, over a restart too; once it is mended, what the one reported counts."""
    async with run_worker(store, slots=NEIGHBOURS + 1) as running:
        [guilty] = await waiting(store, tmp_path, 1)
        others = await waiting(store, tmp_path, NEIGHBOURS)
        await damaged_rows.HARMS[made](address, guilty)
        (tmp_path / "end").touch()
        for job in others:
            await reach(store, job, State.SUCCEEDED)
        aside = await put_aside(running, guilty)
        assert (aside.verb, aside.state, aside.ending) == (Met.SETTLE, State.RUNNING, Ending.SUCCEEDED)
        assert aside.result == '"ended"'
        assert [one.claimed.lease.job for one in running.signals(AttemptLost)] == [guilty]

    async with run_worker(store) as again:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        assert again.signals(JobPutAside) == []
        assert (await reach(store, guilty, State.RUNNING)).aside_at is not None
        await damaged_rows.mend(address, guilty)
        await store.put_back(guilty)
        done = await reach(store, guilty, State.SUCCEEDED)
        assert (done.result, done.attempt, done.aside_at) == ('"ended"', 1, None)
        assert again.signals(Troubled) == []


async def test_rows_that_nobody_can_claim_promote_or_reap_stop_nobody_else(
    store: Store, address: str
) -> None:
    """One of each stands before all others."""
    queued = await enqueue(store, "echo")
    scheduled = await enqueue(store, "echo", run_at=await store.now())
    lost = await enqueue(store, "fail_first", {"failures": 0})
    [owned] = await _claimed_by_a_ghost(store, "fail_first")
    for job in (queued, scheduled, lost):
        await damaged_rows.next_event(address, job)
    others = [
        *[await enqueue(store, "echo") for _ in range(5)],
        *[await enqueue(store, "echo", run_at=await store.now()) for _ in range(5)],
    ]
    async with run_worker(store) as running:
        for job in others:
            await reach(store, job, State.SUCCEEDED)
        assert (await put_aside(running, queued)).verb is Met.CLAIM
        assert (await put_aside(running, lost)).verb is Met.REAP
        for job in (queued, scheduled, lost):
            await put_aside(running, job)
            await damaged_rows.mend(address, job)
            await store.put_back(job)
            await reach(store, job, State.SUCCEEDED)
    assert owned == lost


async def test_a_lease_that_goes_while_its_job_runs_is_noticed(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S0.61: the attempt is stopped, and its job is reported: no worker would ever get it."""
    async with run_worker(store, lease=3) as running:
        [guilty] = await waiting(store, tmp_path, 1)
        await damaged_rows.no_lease(address, guilty)
        aside = await put_aside(running, guilty)
        assert (aside.verb, aside.ending) == (Met.HEARTBEAT, None)
        (tmp_path / "end").touch()
        await store.put_back(guilty)
        assert (await reach(store, guilty, State.SUCCEEDED)).attempt == 2


async def test_what_one_attempt_says_costs_no_other_its_lines(
    store: Store, address: str, tmp_path: Path
) -> None:
    """Its notes cannot be recorded; its own lines are kept, and those of its neighbours."""
    paths = [tmp_path / f"begun-{n}" for n in range(3)]
    jobs = [
        await enqueue(store, "speak_when_told", {"begun": str(path), "end": str(tmp_path / "end")})
        for path in paths
    ]
    async with run_worker(store) as running:
        await asyncio.gather(*map(appear, paths))
        await damaged_rows.next_event(address, jobs[1])
        (tmp_path / "end").touch()
        for job in (jobs[0], jobs[2]):
            await reach(store, job, State.SUCCEEDED)
            assert any(event.type.startswith(CUSTOM) for event in await store.events(job))
        await put_aside(running, jobs[1])
        for job in jobs:
            assert [logged.line.text for logged in await store.logs(job)] == ["heard"]


@pytest.mark.parametrize("refused", [StoreRefused("PostgreSQL refused the statement (25006): read-only")])
async def test_what_is_nobodys_fault_puts_nobody_aside(store: Store, refused: Exception) -> None:
    """A server that only reads, say: the worker goes on trying, and rests in between."""
    interfering = InterferingStore(store)
    tries = 0

    def refuse(verb: Callable[..., Any]) -> Callable[..., Any]:
        async def tried(*given: Any) -> Any:
            nonlocal tries
            tries += 1
            if tries <= 3:
                raise refused
            return await verb(*given)

        return tried

    interfering.interferences["settle_and_claim"] = refuse
    async with run_worker(interfering.store) as running:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        assert [one.failures for one in running.signals(Troubled)] == [1, 2, 3]
        assert running.signals(JobPutAside) == []


async def test_a_job_that_cannot_be_put_aside_is_met_again_after_a_rest(store: Store, address: str) -> None:
    """Never at once: the loop tells of its trouble and rests longer each time."""
    shut, opened = SHUT[address.startswith(damaged_rows.SQLITE)]
    await damaged_rows.past_the_guards(address, shut)
    await damaged_rows.next_event(address, await enqueue(store, "echo"))
    async with run_worker(store) as running:
        await until(lambda: len(running.signals(Troubled)) >= 3)
        assert running.signals(JobPutAside) == []
        assert [one.failures for one in running.signals(Troubled)[:3]] == [1, 2, 3]
        await damaged_rows.past_the_guards(address, opened)
        await running.wait_for(JobPutAside)
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)


async def _claimed_by_a_ghost(store: Store, definition: str) -> list[UUID]:
    line = Line("default", definition)
    order = Order(worker="ghost", lines=(line,), limit=1, lease_for=timedelta(seconds=1))
    return [one.lease.job for one in (await store.settle_and_claim([], order)).claimed]
