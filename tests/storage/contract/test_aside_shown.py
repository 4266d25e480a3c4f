"""Jobs that were put aside, as others meet them: lists, cancels, a second report."""

from typing import Any

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.lease import Order
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.aside_jobs import guilty_one, many, put_aside
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    listed,
    seconds,
    settle,
    succeeded,
)


async def test_a_second_report_finds_the_job_aside(store: Store, backend: Backend) -> None:
    """Whoever did not hear the answer is told the same again, and the first report stays."""
    owned = await guilty_one(store, backend)
    await put_aside(store, [succeeded(owned, "1")])
    with pytest.raises(JobsAside):
        await settle(store, [succeeded(owned, "2")])
    [aside] = (await store.asides()).jobs
    assert aside.result == "1"


async def test_who_is_aside_is_not_cancelled(store: Store, backend: Backend) -> None:
    """Nobody would hear of it, or the step could not be recorded."""
    jobs = await many(store, 3)
    [owned] = await claim(store, limit=1)
    for job in jobs[:2]:
        await damaged_rows.next_event(backend.address, job)
    await put_aside(store, [succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=1))

    standings = {one.job: one for one in await store.cancel(jobs)}

    assert [(standings[job].state, standings[job].moved) for job in jobs[:2]] == [
        (State.RUNNING, False),
        (State.QUEUED, False),
    ]
    assert all(standings[job].is_aside for job in jobs[:2])
    assert not standings[jobs[2]].is_aside


@pytest.mark.parametrize("state", [State.RUNNING, State.QUEUED, State.SCHEDULED])
async def test_lists_find_who_is_aside(store: Store, backend: Backend, clock: Clock, state: State) -> None:
    """They name it, too: it is not where jobs of its state are looked for otherwise."""
    delay: dict[str, Any] = {"delay": seconds(5)} if state is State.SCHEDULED else {}
    job = await enqueue_one(store, **delay)
    if state is State.RUNNING:
        await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await {State.RUNNING: store.reap, State.SCHEDULED: store.promote}.get(state, _claimed(store))(10)

    for which in (Filter(states=frozenset({state})), Filter()):
        [one] = await listed(store, which)
        assert (one.id, one.aside_at) == (job, await store.now())


async def test_jobs_aside_are_listed_by_namespace_the_latest_first(
    store: Store, backend: Backend, clock: Clock
) -> None:
    first = await enqueue_one(store, namespace="one")
    second = await enqueue_one(store, namespace="two")
    for job in (first, second):
        await damaged_rows.next_event(backend.address, job)
        with pytest.raises(JobsAside):
            await claim(store, limit=1)
        await clock.advance(seconds(1))
    both = await store.asides()
    assert ([one.job for one in both.jobs], both.in_all) == ([second, first], 2)
    assert [one.job for one in (await store.asides(limit=1)).jobs] == [second]
    [own] = (await store.asides(namespace="one")).jobs
    assert (own.job, own.namespace, own.line) == (first, "one", MAIL)
    assert [one.job for one in (await store.asides(jobs=[second])).jobs] == [second]


async def test_a_look_for_what_is_amiss_names_who_is_aside_and_what_to_mend(
    store: Store, backend: Backend
) -> None:
    """Not that it stands in no line: to be cancelled and replayed is not its way out."""
    job = await enqueue_one(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    found_amiss = {finding.kind: finding for finding in await store.inspect()}
    assert set(found_amiss) == {"aside", "event"}
    assert f"tenure jobs put-back {job}" in found_amiss["aside"].cure
    await damaged_rows.mend(backend.address, job)
    await store.put_back(job)
    assert await store.inspect() == []


def _claimed(store: Store):  # type: ignore[no-untyped-def]
    return lambda limit: claim(store, limit=limit)
