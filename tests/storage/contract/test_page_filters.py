"""Lists of some jobs: every filter alone and together, and lists that follow what the jobs do."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from itertools import combinations, product
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import Job, NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter, Page
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tenure.storage.mapping.paging import BUDGET, FEW_LINES, FEW_QUEUED
from tests.storage.clock import START, Clock
from tests.storage.contract.histories import lives
from tests.storage.progress import waiting
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    found,
    job_in,
    listed,
    one_in_each_state,
    seconds,
    settle,
    succeeded,
    suspended,
)

NOTHING = timedelta(0)
APPROVED = Filter(waiting_for="approved")


def fits(job: Job, which: Filter) -> bool:
    """Whether a job is meant, by the words of the filter."""
    same = all(
        getattr(which, field) in (None, getattr(job, field))
        for field in ("definition", "version", "queue", "namespace")
    )
    return (
        same
        and (not which.states or job.state in which.states)
        and (which.tag is None or which.tag in job.tags)
        and (which.created_after is None or job.created_at > which.created_after)
        and (which.created_before is None or job.created_at < which.created_before)
    )


async def each(store: Store, jobs: Iterable[UUID]) -> list[Job]:
    """The jobs as they are, by asking for every single one."""
    return [await found(store, job) for job in jobs]


async def assert_lists(store: Store, jobs: Iterable[Job], which: Filter, limit: int = 50) -> None:
    """That a list holds exactly the jobs that it means."""
    expected = sorted(job.id for job in jobs if fits(job, which))
    assert [job.id for job in await listed(store, which, limit=limit, newest_first=False)] == expected, which
    assert [job.id for job in await listed(store, which, limit=limit)] == expected[::-1], which


async def varied(store: Store) -> list[Job]:
    """Jobs that differ in everything a filter can name."""
    kinds = product(
        ("mail", "post"), (1, 2), ("default", "slow"), ("default", "theirs"), ((), ("red", "blue"))
    )
    requested = [
        NewJob(definition=d, version=v, queue=q, namespace=n, tags=tags, hold=v == 2)
        for d, v, q, n, tags in kinds
    ]
    jobs = [job.id for job in await store.enqueue(requested)]
    await claim(store, limit=3)
    await store.cancel(jobs[-2:])
    return await each(store, jobs)


@pytest.mark.parametrize("state", list(State))
async def test_the_jobs_of_one_state_are_listed(store: Store, state: State) -> None:
    """S1.51: status=…, for every state there is."""
    ids = [*(await one_in_each_state(store)).values(), *[await job_in(store, state) for _ in range(2)]]
    jobs = await each(store, ids)
    assert len(await listed(store, Filter(states=frozenset({state})))) == 3
    await assert_lists(store, jobs, Filter(states=frozenset({state})), limit=2)


async def test_any_of_several_states_will_do(store: Store) -> None:
    """S1.51: whether a store finds them in one place or in many."""
    jobs = await each(store, (await one_in_each_state(store)).values())
    jobs += await each(store, (await one_in_each_state(store)).values())
    for pair in combinations(State, 2):
        await assert_lists(store, jobs, Filter(states=frozenset(pair)), limit=3)
    await assert_lists(store, jobs, Filter(states=frozenset(State)), limit=5)
    await assert_lists(store, jobs, Filter(states=frozenset(set(State) - {State.SUCCEEDED})), limit=5)


@pytest.mark.parametrize(
    "requested",
    [
        {"definition": "mail"},
        {"version": 2},
        {"queue": "slow"},
        {"tag": "blue"},
        {"namespace": "theirs"},
        {"states": frozenset({State.QUEUED, State.CREATED})},
    ],
    ids=lambda requested: next(iter(requested)),
)
async def test_each_filter_narrows_by_itself(store: Store, requested: dict[str, Any]) -> None:
    """S1.51: definitionKey=…, and the rest."""
    jobs = await varied(store)
    assert 0 < len(await listed(store, Filter(**requested))) < len(jobs)
    await assert_lists(store, jobs, Filter(**requested), limit=4)


async def test_filters_narrow_together(store: Store) -> None:
    """S1.51: all of them must fit."""
    jobs = await varied(store)
    states = (frozenset[State](), frozenset({State.QUEUED, State.CANCELLED}), frozenset({State.SUCCEEDED}))
    names = [(None, "mail"), (None, 1), (None, "slow"), (None, "red"), (None, "theirs")]
    for chosen, (definition, version, queue, tag, namespace) in product(states, product(*names)):
        which = Filter(
            states=chosen,
            definition=definition,  # type: ignore[arg-type]
            version=version,  # type: ignore[arg-type]
            queue=queue,  # type: ignore[arg-type]
            tag=tag,  # type: ignore[arg-type]
            namespace=namespace,  # type: ignore[arg-type]
        )
        await assert_lists(store, jobs, which)


async def test_jobs_are_found_by_the_time_of_their_creation(store: Store, clock: Clock) -> None:
    """By the store's time: behind a moment, before one, or between two."""
    jobs = [await enqueue_one(store, tags=("red",))]
    for _ in range(4):
        await clock.advance(seconds(10))
        jobs.append(await enqueue_one(store, tags=("red",)))
    known, middle = await each(store, jobs), START + seconds(15)
    for more in ({}, {"tag": "red"}, {"definition": "mail"}, {"states": frozenset({State.QUEUED})}):
        narrowed: dict[str, Any] = more
        for which in (
            Filter(created_after=middle, **narrowed),
            Filter(created_before=middle, **narrowed),
            Filter(created_after=START + seconds(5), created_before=START + seconds(25), **narrowed),
            Filter(created_after=START + seconds(60), **narrowed),
            Filter(created_before=START, **narrowed),
        ):
            await assert_lists(store, known, which, limit=1)


async def test_a_moment_itself_is_neither_before_nor_after_it(store: Store, clock: Clock) -> None:
    await enqueue_one(store)
    assert await listed(store, Filter(created_after=clock.now)) == []
    assert await listed(store, Filter(created_before=clock.now)) == []
    around = Filter(created_after=clock.now - seconds(1), created_before=clock.now + seconds(1))
    assert len(await listed(store, around)) == 1


async def test_what_no_job_has_finds_none(store: Store) -> None:
    await enqueue_one(store, tags=("red",))
    for which in (
        Filter(definition="unheard-of"),
        Filter(version=2),
        Filter(version=2**31 - 1),
        Filter(queue="unheard-of"),
        Filter(tag="unheard-of"),
        Filter(tag="Red"),
        Filter(namespace="unheard-of"),
        Filter(states=frozenset({State.BURIED})),
        Filter(tag="red", definition="unheard-of"),
        Filter(states=frozenset({State.QUEUED}), definition="unheard-of"),
    ):
        assert await store.page(which) == Page([], None), which


async def test_after_every_verb_the_lists_follow(store: Store, clock: Clock) -> None:
    """S1.51: a job stands in the list of its state and in no other, however it came there."""
    async for verb, jobs in lives(store, clock):
        states = {job: (await found(store, job)).state for job in jobs}
        for state in State:
            expected = sorted(job for job in jobs if states[job] is state)
            shown = await listed(store, Filter(states=frozenset({state})), newest_first=False)
            assert [job.id for job in shown] == expected, (verb, state)
            assert {job.state for job in shown} <= {state}
        assert len(await listed(store)) == len(jobs), verb


async def test_jobs_under_limits_are_found_like_any_others(store: Store) -> None:
    """However a store keeps those of different limits apart, more of them than it reads side by side too."""
    limits = [(Limit("tenant", str(n)), Limit("api", size=3)) for n in range(FEW_LINES + 5)]
    ids = [await enqueue_one(store), await enqueue_one(store, "post")]
    ids += [await enqueue_one(store, limits=limit) for limit in limits]
    jobs = await each(store, ids)
    for which in (Filter(definition="mail"), Filter(queue="default", version=1), Filter(definition="post")):
        await assert_lists(store, jobs, which, limit=7)
        narrowed = Filter(definition=which.definition, states=frozenset({State.QUEUED, State.SUCCEEDED}))
        await assert_lists(store, jobs, narrowed, limit=7)


async def test_a_long_line_is_listed_with_the_states_beside_it(store: Store) -> None:
    """S1.51: more jobs in line than are looked through one by one."""
    held = [await enqueue_one(store, hold=True) for _ in range(2)]
    queued = await store.enqueue([NewJob(definition="mail") for _ in range(FEW_QUEUED + 1)])
    held += [await enqueue_one(store, hold=True)]
    failed = await job_in(store, State.FAILED)
    waiting = {job.id for job in queued}

    both = frozenset({State.QUEUED, State.CREATED})
    for which in (Filter(states=both), Filter(states=both, definition="mail")):
        assert {job.id for job in await listed(store, which, limit=200)} == waiting | set(held)
    assert len(await listed(store, Filter(states=frozenset({State.QUEUED})), limit=200)) == len(waiting)
    assert [job.id for job in await listed(store, Filter(states=frozenset({State.FAILED})))] == [failed]


async def test_leases_of_jobs_that_are_gone_hide_nobody(store: Store, clock: Clock) -> None:
    """A lease outlives the jobs that were claimed under it, until somebody sweeps it away."""
    await store.enqueue([NewJob(definition="mail") for _ in range(BUDGET)])
    await settle(store, [succeeded(claimed) for claimed in await claim(store, limit=BUDGET)])
    await clock.advance(seconds(1))
    gone = await store.prune(Retention(succeeded=NOTHING), limit=BUDGET)
    assert gone.jobs == BUDGET
    running = await job_in(store, State.RUNNING)
    for newest_first in (True, False):
        shown = await listed(store, Filter(states=frozenset({State.RUNNING})), newest_first=newest_first)
        assert [job.id for job in shown] == [running]


async def test_lists_read_while_jobs_move_name_no_job_twice(store: Store, other: Store) -> None:
    """S1.51: a page shows no job outside the states asked for."""
    jobs = [job.id for job in await store.enqueue([NewJob(definition="mail") for _ in range(60)])]
    which = Filter(states=frozenset({State.QUEUED, State.RUNNING}))

    async def work() -> None:
        while batch := await claim(other, limit=5, lines=[MAIL, Line("default", "post")]):
            await settle(other, [succeeded(claimed) for claimed in batch])

    async with asyncio.TaskGroup() as group:
        working = group.create_task(work())
        while not working.done():
            shown = await listed(store, which, limit=7)
            assert len({job.id for job in shown}) == len(shown)
            assert {job.state for job in shown} <= which.states
    assert {job.id for job in await listed(store, Filter(states=frozenset({State.SUCCEEDED})))} == set(jobs)


async def test_jobs_are_found_by_the_signal_that_they_wait_for_now(store: Store, clock: Clock) -> None:
    """Not by one that they have waited for before, though they are suspended again, for something else."""
    before = await waiting(store, timeout=seconds(60))
    assert [job.id for job in (await store.page(APPROVED)).jobs] == [before]
    await clock.advance(seconds(61))
    await store.promote(10)
    [held] = await claim(store)
    await settle(store, [suspended(held, seconds(600))])
    fresh = await waiting(store)
    for newest_first in (True, False):
        page = await store.page(APPROVED, newest_first=newest_first)
        assert [job.id for job in page.jobs] == [fresh]
    assert (await store.page(Filter(waiting_for="paid"))).jobs == []
    assert (await store.counts(APPROVED))[State.SUSPENDED] == Count(1)
