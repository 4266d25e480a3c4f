"""Following up: a job that ended without its owner's report is given, once, to a worker that serves it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.model.trail import HOOK_FAILED, Note
from tenure.core.reports.operations import Definition
from tenure.core.reports.retention import Retention
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    recoverable,
    seconds,
    settle,
    state_of,
    stopped,
    succeeded,
    unrecoverable,
)

HOOKED = Document('{"hooks":["on_end"]}')
POST = Line("default", "post")
NONE = timedelta(0)
ONCE = Policy(on_lost=OnLost.BURY)

End = Callable[[Store, Clock], Awaitable[UUID]]


async def register(store: Store, *keys: str, spec: Document = HOOKED) -> None:
    await store.put_definitions([Definition(key=key, version=1, spec=spec) for key in keys])


async def cancelled_in_line(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store)
    await store.cancel([job])
    return job


async def cancelled_while_held(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store, hold=True)
    await store.cancel([job])
    return job


async def cancelled_between_attempts(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned)])
    await store.cancel([job])
    return job


async def handed_back_cancelling(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.cancel([job])
    await store.hand_back("a", unstarted=[owned.lease], killed=[])
    return job


async def handed_back_and_buried(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store, policy=ONCE)
    [owned] = await claim(store)
    await store.hand_back("a", unstarted=[], killed=[owned.lease])
    return job


async def lost(store: Store, clock: Clock, policy: Policy) -> UUID:
    job = await enqueue_one(store, policy=policy)
    await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(31))
    await store.reap(10)
    return job


async def lost_for_good(store: Store, clock: Clock) -> UUID:
    return await lost(store, clock, Policy(max_attempts=1))


async def lost_and_buried(store: Store, clock: Clock) -> UUID:
    return await lost(store, clock, ONCE)


async def given_up(store: Store, _clock: Clock) -> UUID:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned)])
    await store.give_up([job])
    await store.promote(10)
    return job


ENDS = [
    *(cancelled_in_line, cancelled_while_held, cancelled_between_attempts),
    *(handed_back_cancelling, handed_back_and_buried, lost_for_good, lost_and_buried, given_up),
]


@pytest.mark.parametrize("end", ENDS)
async def test_what_ended_without_its_owners_word_is_given_once(
    store: Store, other: Store, clock: Clock, end: End
) -> None:
    """S1.26: and a worker that looks is told that there is something."""
    await register(store, "mail")
    job = await end(store, clock)
    assert (await state_of(store, job)).is_final
    assert (await other.outlook([POST, MAIL])).owed
    assert await other.follow_up([POST, MAIL], 10) == [job]
    assert not (await store.outlook([MAIL])).owed
    assert await store.follow_up([MAIL], 10) == []


async def test_what_its_owner_reported_is_its_owners(store: Store) -> None:
    """It runs the hooks itself; and what has not ended has none to be run."""
    await register(store, "mail")
    for _ in range(5):
        await enqueue_one(store)
    await enqueue_one(store, hold=True)
    good, bad, again, stop, back = await claim(store)
    await store.cancel([stop.lease.job])
    await settle(store, [succeeded(good), unrecoverable(bad), recoverable(again), stopped(stop)])
    await store.hand_back("a", unstarted=[back.lease], killed=[])
    assert not (await store.outlook([MAIL])).owed
    assert await store.follow_up([MAIL], 10) == []


async def test_a_job_that_goes_on_is_nobodys_to_follow_up(store: Store, clock: Clock) -> None:
    await register(store, "mail")
    job = await lost(store, clock, Policy(max_attempts=2))
    assert await state_of(store, job) is State.QUEUED
    assert await store.follow_up([MAIL], 10) == []


@pytest.mark.parametrize("spec", ['{"hooks":[]}', "{}", None])
async def test_where_there_are_no_hooks_nothing_is_kept(
    store: Store, backend: Backend, clock: Clock, spec: str | None
) -> None:
    if spec is not None:
        await register(store, "mail", spec=Document(spec))
    for end in ENDS:
        await end(store, clock)
    assert await count(backend, "tenure.aftermath") == 0


async def test_only_who_serves_the_line_is_given_anything(store: Store) -> None:
    """Queue, definition and version alike; and each asks for as many as it has room for."""
    await register(store, "mail", "post")
    jobs = [await enqueue_one(store) for _ in range(3)]
    elsewhere = await enqueue_one(store, queue="slow")
    await store.cancel([*jobs, elsewhere])
    assert await store.follow_up([POST, Line("default", "mail", 2)], 10) == []
    assert await store.follow_up([MAIL], 0) == []
    first = await store.follow_up([MAIL, POST], 2)
    assert len(first) == 2
    assert {*first, *await store.follow_up([MAIL, POST], 2)} == set(jobs)
    assert await store.follow_up([Line("slow", "mail")], 10) == [elsewhere]


async def test_no_two_who_ask_at_once_are_given_the_same(store: Store, other: Store) -> None:
    await register(store, "mail")
    made = await store.enqueue([NewJob(definition="mail")] * 60)
    await store.cancel([each.id for each in made])
    answers = await asyncio.gather(*(one.follow_up([MAIL], 7) for _ in range(8) for one in (store, other)))
    given = [job for answer in answers for job in answer]
    assert len(given) == len(set(given))
    given += await store.follow_up([MAIL], 60)
    assert sorted(given) == sorted(each.id for each in made)


async def test_what_is_pruned_is_owed_nothing(store: Store, backend: Backend, clock: Clock) -> None:
    await register(store, "mail")
    for end in ENDS:
        await end(store, clock)
    await store.prune(Retention(succeeded=NONE, others=NONE, keyed=NONE))
    assert await count(backend, "tenure.aftermath") == 0
    assert await store.follow_up([MAIL], 10) == []


async def test_a_hook_of_a_job_that_nobody_ever_claimed_may_fail_on_record(
    store: Store, clock: Clock
) -> None:
    """It has no lease; its fence is 0."""
    job = await cancelled_in_line(store, clock)
    assert await store.annotate(Lease(job, 0), Note(HOOK_FAILED))
    assert [event.type for event in await store.events(job)][-1] == HOOK_FAILED
