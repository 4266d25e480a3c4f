"""Lists of jobs, page by page: in order, each job once, whatever happens meanwhile."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter, Listed, Page
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tenure.storage.mapping.paging import BUDGET
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import EVERY_JOB, claim, enqueue_one, found, listed, one_in_each_state

NIL, LAST = UUID(int=0), UUID(int=2**128 - 1)


async def enqueue_many(store: Store, number: int, **requested: Any) -> list[UUID]:
    jobs = [NewJob(definition="mail", **requested) for _ in range(number)]
    return [job.id for job in await store.enqueue(jobs)]


def ids(jobs: list[Listed]) -> list[UUID]:
    return [job.id for job in jobs]


async def test_a_store_without_jobs_has_one_empty_page(store: Store) -> None:
    assert await store.page(EVERY_JOB) == Page([], None)


async def test_the_newest_job_comes_first_unless_asked_otherwise(store: Store) -> None:
    """S1.51: the order of creation, forwards or backwards."""
    jobs = [await enqueue_one(store, definition, priority=n) for n, definition in enumerate(("b", "c", "a"))]
    assert [job.id for job in (await store.page(EVERY_JOB)).jobs] == jobs[::-1]
    assert [job.id for job in (await store.page(EVERY_JOB, newest_first=False)).jobs] == jobs


@pytest.mark.parametrize("limit", [1, 2, 200])
@pytest.mark.parametrize("newest_first", [True, False])
async def test_paging_sees_every_job_once_and_in_order(store: Store, limit: int, newest_first: bool) -> None:
    """S1.51: from page to page nothing is left out and nothing comes twice."""
    jobs = list((await one_in_each_state(store)).values()) + await enqueue_many(store, 12)
    seen = ids(await listed(store, limit=limit, newest_first=newest_first))
    assert seen == sorted(jobs, reverse=newest_first)


async def test_a_page_holds_no_more_than_was_asked_for(store: Store) -> None:
    """S1.51: and says where to go on for as long as there is more."""
    jobs = await enqueue_many(store, 5)
    first = await store.page(EVERY_JOB, limit=3, newest_first=False)
    assert [job.id for job in first.jobs] == jobs[:3]
    assert first.next is not None
    second = await store.page(EVERY_JOB, after=first.next, limit=3, newest_first=False)
    assert ([job.id for job in second.jobs], second.next) == (jobs[3:], None)


async def test_fifty_jobs_are_a_page(store: Store) -> None:
    await enqueue_many(store, 60)
    assert len((await store.page(EVERY_JOB)).jobs) == 50
    assert len((await store.page(EVERY_JOB, limit=200)).jobs) == 60


async def test_a_listed_job_is_as_it_is_when_asked_for_alone(store: Store, clock: Clock) -> None:
    """S1.39: the same words and times, without its documents."""
    parent = await enqueue_one(store)
    requested: dict[str, Any] = {
        "priority": 7,
        "namespace": "theirs",
        "key": "k",
        "parent": parent,
        "replay_of": parent,
        "tags": ("red", "blue"),
        "limits": (Limit("own"),),
        "params": Document('{"to":"ann"}'),
    }
    await enqueue_one(
        store, "post", queue="slow", version=3, run_at=clock.now, policy=Policy(max_attempts=9), **requested
    )
    async for _ in lives(store, clock):
        for each in await listed(store):
            job = await found(store, each.id)
            fields = [name for name in Listed.__struct_fields__ if name != "max_attempts"]
            assert {name: getattr(each, name) for name in fields} == {
                name: getattr(job, name) for name in fields
            }
            assert each.max_attempts == job.policy.max_attempts


async def test_a_page_begins_behind_an_id_that_was_never_a_jobs(store: Store) -> None:
    """A cursor is a place, not a job: whose it was may be gone by now."""
    jobs = await enqueue_many(store, 4)
    between = UUID(int=jobs[1].int + 1)
    assert between not in jobs
    behind = await store.page(EVERY_JOB, after=between, newest_first=False)
    assert [job.id for job in behind.jobs] == jobs[2:]
    before = await store.page(EVERY_JOB, after=between)
    assert [job.id for job in before.jobs] == jobs[1::-1]


async def test_behind_the_last_id_there_is_nothing(store: Store) -> None:
    jobs = await enqueue_many(store, 2)
    assert await store.page(EVERY_JOB, after=jobs[-1], newest_first=False) == Page([], None)
    assert await store.page(EVERY_JOB, after=jobs[0]) == Page([], None)
    assert await store.page(EVERY_JOB, after=LAST, newest_first=False) == Page([], None)
    assert await store.page(EVERY_JOB, after=NIL) == Page([], None)


@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_ids_of_the_callers_making_stand_where_they_sort(store: Store, limit: int) -> None:
    """The smallest and the largest there are among them."""
    own = [NIL, LAST, UUID(int=1), *(uuid4() for _ in range(5))]
    for id_ in own:
        await enqueue_one(store, id=id_, tags=("own",))
    jobs = sorted([*own, *await enqueue_many(store, 3)])
    for narrowed in (EVERY_JOB, Filter(definition="mail"), Filter(states=frozenset({State.QUEUED}))):
        assert ids(await listed(store, narrowed, limit=limit, newest_first=False)) == jobs
        assert ids(await listed(store, narrowed, limit=limit)) == jobs[::-1]
    assert ids(await listed(store, Filter(tag="own"), limit=limit, newest_first=False)) == sorted(own)


async def test_jobs_recorded_while_somebody_pages_disturb_nobody(store: Store) -> None:
    """S1.51: what was there before is seen once, whatever is added in front or behind."""
    old = await enqueue_many(store, 10)
    for newest_first in (True, False):
        seen: list[UUID] = []
        page = await store.page(EVERY_JOB, limit=3, newest_first=newest_first)
        while page.next is not None:
            seen += [job.id for job in page.jobs]
            if len(seen) < 10:
                await enqueue_many(store, 2)
            page = await store.page(EVERY_JOB, after=page.next, limit=3, newest_first=newest_first)
        seen += [job.id for job in page.jobs]
        assert len(seen) == len(set(seen))
        assert [job for job in seen if job in old] == sorted(old, reverse=newest_first)


async def test_jobs_that_move_while_somebody_pages_are_missed_or_seen_once(store: Store) -> None:
    """S1.51: and nobody else is."""
    jobs = await enqueue_many(store, 12)
    queued = Filter(states=frozenset({State.QUEUED}))
    first = await store.page(queued, limit=4, newest_first=False)
    started = {claimed.lease.job for claimed in await claim(store, limit=6)}
    assert first.next is not None
    rest = await store.page(queued, after=first.next, limit=200, newest_first=False)
    seen = [job.id for job in [*first.jobs, *rest.jobs]]
    assert len(seen) == len(set(seen))
    assert set(jobs) - started <= set(seen)


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_page_may_come_short_and_still_name_a_next(store: Store, newest_first: bool) -> None:
    """S1.51: a store looks at a bounded number of rows; the few that fit are all found in the end."""
    before = await enqueue_many(store, 2)
    await enqueue_many(store, BUDGET + 100, namespace="crowd")
    after = await enqueue_many(store, 2)
    rare = Filter(namespace="default")

    first = await store.page(rare, limit=3, newest_first=newest_first)
    assert {job.id for job in first.jobs} == set(after if newest_first else before)
    assert first.next is not None
    assert ids(await listed(store, rare, limit=3, newest_first=newest_first)) == sorted(
        before + after, reverse=newest_first
    )


async def test_an_empty_page_may_name_a_next(store: Store) -> None:
    """S1.51: nothing was found so far, which is not to say that there is nothing."""
    [rare] = await enqueue_many(store, 1)
    await enqueue_many(store, BUDGET, namespace="crowd")
    page = await store.page(Filter(namespace="default"))
    assert (page.jobs, page.next is None) == ([], False)
    assert ids(await listed(store, Filter(namespace="default"))) == [rare]


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_tenant_finds_its_jobs_at_once_however_many_others_have(
    store: Store, newest_first: bool
) -> None:
    """Its counts are whole as well."""
    before = await enqueue_many(store, 2, namespace="acme")
    await enqueue_many(store, BUDGET)
    after = await enqueue_many(store, 2, namespace="acme")
    jobs = sorted(before + after, reverse=newest_first)
    for which in (Filter(namespace="acme"), Filter(namespace="acme", definition="mail")):
        page = await store.page(which, newest_first=newest_first)
        assert ([job.id for job in page.jobs], page.next) == (jobs, None)
        first = await store.page(which, newest_first=newest_first, limit=3)
        last = await store.page(which, newest_first=newest_first, limit=3, after=first.next)
        assert [job.id for job in [*first.jobs, *last.jobs]] == jobs
        assert (await store.counts(which))[State.QUEUED] == Count(4)


async def test_a_long_list_is_seen_whole_in_the_largest_pages(store: Store) -> None:
    """S1.51: a boundary of what is looked at is none of what is shown."""
    jobs = await enqueue_many(store, BUDGET + 1, tags=("red",))
    for which in (EVERY_JOB, Filter(tag="red"), Filter(definition="mail")):
        assert ids(await listed(store, which, limit=200)) == jobs[::-1]


@pytest.mark.parametrize("limit", [0, -1, 201])
async def test_a_page_of_no_size_is_refused(store: Store, limit: int) -> None:
    await enqueue_one(store)
    for which in (EVERY_JOB, Filter(definition="unheard-of")):
        with pytest.raises(InvalidInput, match="limit"):
            await store.page(which, limit=limit)
