"""Dead letters by what they died of: in which group each stands, however it died, and how it is found."""

from datetime import timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import MOST_COUNTED, Count, DeadGroups
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.core.values import fingerprint
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import (
    BOOM,
    claim,
    enqueue_one,
    found,
    job_in,
    listed,
    recoverable,
    seconds,
    settle,
    unrecoverable,
)

LOST = Failure("OSError", "no route to host 7")


async def die(store: Store, error: Failure = BOOM, definition: str = "mail", count: int = 1) -> list[UUID]:
    """Let new jobs fail for good."""
    await store.enqueue([NewJob(definition=definition)] * count)
    owned = await claim(store, limit=count, lines=[Line("default", definition)])
    await settle(store, [unrecoverable(claimed, error) for claimed in owned])
    return [claimed.lease.job for claimed in owned]


async def test_where_nothing_has_died_there_is_no_group(store: Store) -> None:
    await job_in(store, State.CANCELLED)
    await job_in(store, State.SUCCEEDED)
    assert await store.dead_letters() == DeadGroups([], is_more=False)


async def test_the_hours_tell_when_the_dead_letters_of_each_cause_ended(store: Store, clock: Clock) -> None:
    """Counted by how many full hours ago; those of more than a day ago are left out."""
    await die(store)
    for hours, count in ((2, 2), (21, 1), (0.5, 3)):
        await clock.advance(timedelta(hours=hours))
        await die(store, count=count)
    await die(store, LOST)
    [boom] = [group.fingerprint for group in (await store.dead_letters()).groups if group.error == BOOM]
    await clock.advance(timedelta(hours=1.2))
    assert await store.dead_letter_hours([boom, "mail:none"]) == {boom: {1: 4, 22: 2}, "mail:none": {}}
    assert await store.dead_letter_hours([]) == {}
    with pytest.raises(InvalidInput):
        await store.dead_letter_hours(["mail:none"] * 201)


async def test_those_that_died_of_the_same_are_one_group(store: Store, clock: Clock) -> None:
    """The newest of them stands for all; another definition's are another group."""
    await die(store)
    await clock.advance(seconds(5))
    [last] = await die(store)
    await clock.advance(seconds(5))
    [other] = await die(store, LOST)
    await clock.advance(seconds(5))
    [theirs] = await die(store, LOST, "post")
    answer = (await store.dead_letters()).groups
    assert [(group.definition, group.count, group.job, group.error) for group in answer] == [
        ("post", Count(1), theirs, LOST),
        ("mail", Count(1), other, LOST),
        ("mail", Count(2), last, BOOM),
    ]
    assert [group.fingerprint for group in answer] == [
        fingerprint.of(*pair) for pair in (("post", LOST), ("mail", LOST), ("mail", BOOM))
    ]
    assert (answer[-1].newest, answer[-1].oldest) == (START + seconds(5), START)


async def test_however_a_job_died_it_stands_in_the_group_of_its_error(store: Store, clock: Clock) -> None:
    """Its owner's word, a lost worker, a hand-back too many, a shutdown, an operator: all leave an error."""
    known: list[UUID] = []
    async for verb, jobs in lives(store, clock):
        known = jobs
        dead = [job for job in [await found(store, job) for job in jobs] if job.state in DEAD_LETTERS]
        expected: dict[str, set[UUID]] = {}
        for job in dead:
            expected.setdefault(fingerprint.of(job.definition, job.error), set()).add(job.id)
        answer = {group.fingerprint: group.count for group in (await store.dead_letters()).groups}
        assert answer == {name: Count(len(ids)) for name, ids in expected.items()}, verb
        for name, ids in expected.items():
            assert {job.id for job in await listed(store, Filter(fingerprint=name))} == ids, verb
    assert len({(await found(store, job)).error for job in known}) > 3


async def test_a_job_given_back_too_often_has_a_group_too(store: Store) -> None:
    job = await enqueue_one(store, policy=NewJob(definition="mail").policy)
    for _ in range(30):
        if not (owned := await claim(store)):
            break
        await store.hand_back("a", unstarted=[owned[0].lease], killed=[])
    dead = await found(store, job)
    assert dead.state is State.FAILED
    [group] = (await store.dead_letters()).groups
    assert group.fingerprint == fingerprint.of("mail", dead.error)


async def test_a_group_is_counted_up_to_a_bound(store: Store) -> None:
    await die(store, count=MOST_COUNTED)
    [group] = (await store.dead_letters()).groups
    assert group.count == Count(MOST_COUNTED)
    await die(store)
    [group] = (await store.dead_letters()).groups
    assert (group.count, str(group.count)) == (Count(MOST_COUNTED, is_more=True), "1,000+")


async def test_the_latest_groups_are_told_and_that_there_are_more(store: Store, clock: Clock) -> None:
    for name in ("a", "c", "b", "d"):
        await clock.advance(seconds(1))
        await die(store, definition=name)
    answer = await store.dead_letters(limit=3)
    assert [group.definition for group in answer.groups] == ["d", "b", "c"]
    assert answer.is_more
    assert not (await store.dead_letters(limit=4)).is_more
    everything = (await store.dead_letters()).groups
    assert all(one.newest >= other.newest for one, other in pairwise(everything))


async def test_what_is_pruned_is_in_no_group(store: Store, clock: Clock) -> None:
    await die(store, count=2)
    await clock.advance(timedelta(days=40))
    [kept] = await die(store, LOST)
    await store.prune(Retention())
    answer = (await store.dead_letters()).groups
    assert [(group.job, group.count) for group in answer] == [(kept, Count(1))]


async def test_a_fingerprint_narrows_with_all_the_rest(store: Store) -> None:
    await store.enqueue([NewJob(definition="mail", queue=q, tags=(q,)) for q in ("slow", "fast") * 3])
    for queue in ("slow", "fast"):
        owned = await claim(store, lines=[Line(queue, "mail")])
        await settle(store, [unrecoverable(owned[0]), unrecoverable(owned[1], LOST), recoverable(owned[2])])
    of_boom = fingerprint.of("mail", BOOM)
    for which, count in {
        Filter(fingerprint=of_boom): 2,
        Filter(fingerprint=of_boom, queue="slow"): 1,
        Filter(fingerprint=of_boom, tag="fast"): 1,
        Filter(fingerprint=of_boom, tag="fast", queue="slow"): 0,
        Filter(fingerprint=of_boom, states=DEAD_LETTERS): 2,
        Filter(fingerprint=of_boom, states=frozenset({State.RETRYING})): 0,
        Filter(fingerprint=of_boom, definition="post"): 0,
        Filter(fingerprint="mail:000000000000"): 0,
    }.items():
        for newest_first in (True, False):
            assert len(await listed(store, which, newest_first=newest_first, limit=1)) == count, which


async def test_a_reading_is_bounded(store: Store) -> None:
    for limit in (0, 201):
        with pytest.raises(InvalidInput):
            await store.dead_letters(limit=limit)
