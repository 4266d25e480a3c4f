"""A worker that meets a row which somebody has made by hand: one job is put aside, all others go on."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.aside import Aside, Met
from tenure.core.errors import StoreRefused
from tenure.core.lease import Line, Order
from tenure.core.outcome import Ending
from tenure.core.signals import AttemptLost, JobPutAside, Troubled
from tenure.core.states import State
from tenure.core.trail import CUSTOM
from tenure.storage.contract import Store
from tests.storage import harm
from tests.worker.employing import Employed, appear, employ, enqueue, reach, until
from tests.worker.meddling import Meddled

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


async def waiting(store: Store, folder: Path, number: int, **asked: Any) -> list[UUID]:
    """Jobs that run, and end when they are told to, all at once."""
    begun = [folder / f"begun-{number}-{n}" for n in range(number)]
    jobs = [
        await enqueue(store, "wait", {"begun": str(path), "end": str(folder / "end")}, **asked)
        for path in begun
    ]
    await asyncio.gather(*(appear(path) for path in begun))
    return jobs


async def put_aside(employed: Employed, job: UUID) -> Aside:
    """What the worker has said of a job that it put aside."""
    await until(lambda: any(one.aside.job == job for one in employed.told(JobPutAside)))
    [told] = [one.aside for one in employed.told(JobPutAside) if one.aside.job == job]
    aside: Aside = told
    return aside


@pytest.mark.parametrize("made", list(harm.HARMS))
async def test_one_wrong_row_stops_nobody_else(store: Store, address: str, tmp_path: Path, made: str) -> None:
    """Nineteen neighbours settle, over a restart too; once it is mended, what the one reported counts."""
    async with employ(store, slots=NEIGHBOURS + 1) as employed:
        [guilty] = await waiting(store, tmp_path, 1)
        others = await waiting(store, tmp_path, NEIGHBOURS)
        await harm.HARMS[made](address, guilty)
        (tmp_path / "end").touch()
        for job in others:
            await reach(store, job, State.SUCCEEDED)
        aside = await put_aside(employed, guilty)
        assert (aside.verb, aside.state, aside.ending) == (Met.SETTLE, State.RUNNING, Ending.SUCCEEDED)
        assert aside.result == '"ended"'
        assert [one.claimed.lease.job for one in employed.told(AttemptLost)] == [guilty]

    async with employ(store) as again:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        assert again.told(JobPutAside) == []
        assert (await reach(store, guilty, State.RUNNING)).aside_at is not None
        await harm.mend(address, guilty)
        await store.put_back(guilty)
        done = await reach(store, guilty, State.SUCCEEDED)
        assert (done.result, done.attempt, done.aside_at) == ('"ended"', 1, None)
        assert again.told(Troubled) == []


async def test_rows_that_nobody_can_claim_promote_or_reap_stop_nobody_else(
    store: Store, address: str
) -> None:
    """One of each stands in front of everybody."""
    queued = await enqueue(store, "echo")
    scheduled = await enqueue(store, "echo", run_at=await store.now())
    lost = await enqueue(store, "fail_first", {"failures": 0})
    [owned] = await _claimed_by_a_ghost(store, "fail_first")
    for job in (queued, scheduled, lost):
        await harm.next_event(address, job)
    others = [
        *[await enqueue(store, "echo") for _ in range(5)],
        *[await enqueue(store, "echo", run_at=await store.now()) for _ in range(5)],
    ]
    async with employ(store) as employed:
        for job in others:
            await reach(store, job, State.SUCCEEDED)
        assert (await put_aside(employed, queued)).verb is Met.CLAIM
        assert (await put_aside(employed, lost)).verb is Met.REAP
        for job in (queued, scheduled, lost):
            await put_aside(employed, job)
            await harm.mend(address, job)
            await store.put_back(job)
            await reach(store, job, State.SUCCEEDED)
    assert owned == lost


async def test_a_lease_that_goes_while_its_job_runs_is_noticed(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S0.61: the attempt is stopped, and its job is named: nobody would ever take it back."""
    async with employ(store, lease=3) as employed:
        [guilty] = await waiting(store, tmp_path, 1)
        await harm.no_lease(address, guilty)
        aside = await put_aside(employed, guilty)
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
    async with employ(store) as employed:
        await asyncio.gather(*map(appear, paths))
        await harm.next_event(address, jobs[1])
        (tmp_path / "end").touch()
        for job in (jobs[0], jobs[2]):
            await reach(store, job, State.SUCCEEDED)
            assert any(event.type.startswith(CUSTOM) for event in await store.events(job))
        await put_aside(employed, jobs[1])
        for job in jobs:
            assert [logged.line.text for logged in await store.logs(job)] == ["heard"]


@pytest.mark.parametrize("refused", [StoreRefused("PostgreSQL refused the statement (25006): read-only")])
async def test_what_is_nobodys_fault_puts_nobody_aside(store: Store, refused: Exception) -> None:
    """A server that only reads, say: the worker goes on trying, and rests in between."""
    meddled = Meddled(store)
    tries = 0

    def refuse(verb: Callable[..., Any]) -> Callable[..., Any]:
        async def tried(*given: Any) -> Any:
            nonlocal tries
            tries += 1
            if tries <= 3:
                raise refused
            return await verb(*given)

        return tried

    meddled.interferences["settle_and_claim"] = refuse
    async with employ(meddled.seen) as employed:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        assert [one.failures for one in employed.told(Troubled)] == [1, 2, 3]
        assert employed.told(JobPutAside) == []


async def test_a_job_that_cannot_be_put_aside_is_met_again_after_a_rest(store: Store, address: str) -> None:
    """Never at once: the loop tells of its trouble and rests longer each time."""
    shut, opened = SHUT[address.startswith(harm.SQLITE)]
    await harm.past_the_guards(address, shut)
    await harm.next_event(address, await enqueue(store, "echo"))
    async with employ(store) as employed:
        await until(lambda: len(employed.told(Troubled)) >= 3)
        assert employed.told(JobPutAside) == []
        assert [one.failures for one in employed.told(Troubled)[:3]] == [1, 2, 3]
        await harm.past_the_guards(address, opened)
        await employed.hears(JobPutAside)
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)


async def _claimed_by_a_ghost(store: Store, definition: str) -> list[UUID]:
    line = Line("default", definition)
    order = Order(worker="ghost", lines=(line,), limit=1, lease_for=timedelta(seconds=1))
    return [one.lease.job for one in (await store.settle_and_claim([], order)).claimed]
