"""Replaying: a finished job stays as it is, and runs again as another one."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.reports.reading import Filter
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
    fed,
    found,
    job_in,
    listed,
    record_of,
    seconds,
    settle,
    succeeded,
)

FINAL = [state for state in State if state.is_final]
POLICY = Policy(
    max_attempts=7, timeout=seconds(9), grace=seconds(8), retry=RetryPolicy(fatal_on=("ValueError",))
)


async def replay_one(store: Store, job: UUID, *, forced: bool = False) -> UUID:
    [answer] = await store.replay([job], forced=forced)
    assert answer.replay is not None
    return answer.replay


async def cancelled(store: Store) -> UUID:
    """A finished job of the line that everybody serves."""
    job = await enqueue_one(store)
    await store.cancel([job])
    return job


@pytest.mark.parametrize("state", FINAL)
async def test_a_finished_job_runs_again_as_a_new_one(store: Store, clock: Clock, state: State) -> None:
    """And nothing of the first one changes."""
    job = await job_in(store, state)
    before = await record_of(store, job)
    now = await clock.advance(seconds(5))

    [answer] = await store.replay([job])

    assert answer.replay is not None
    assert answer == Replayed(job, state, answer.replay, fresh=True)
    replay = await found(store, answer.replay)
    assert (replay.state, replay.replay_of, replay.attempt) == (State.QUEUED, job, 0)
    assert (replay.created_at, replay.queued_at, replay.finished_at) == (now, now, None)
    assert await record_of(store, job) == before


async def test_a_replay_asks_for_what_the_first_asked_for(store: Store) -> None:
    """All but what made the first one unique: its key and its parent."""
    parent = await enqueue_one(store, hold=True)
    job = await enqueue_one(
        store,
        "post",
        version=3,
        queue="slow",
        priority=7,
        namespace="theirs",
        params=Document('{"to":"ann"}'),
        policy=POLICY,
        limits=(Limit("tenant", "ann", 2), Limit("api", size=3)),
        tags=("red", "blue"),
        scope="s",
        key="k",
        parent=parent,
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03",
    )
    await store.cancel([job])
    first, replay = await found(store, job), await found(store, await replay_one(store, job))
    for field in (
        "definition",
        "version",
        "queue",
        "priority",
        "namespace",
        "params",
        "policy",
        "limits",
        "tags",
        "traceparent",
    ):
        assert getattr(replay, field) == getattr(first, field), field
    assert (replay.key, replay.parent, replay.replay_of) == (None, None, job)
    assert [each.id for each in await listed(store, Filter(tag="blue"))] == [replay.id, job]


async def test_a_replay_may_get_other_params(store: Store) -> None:
    job = await enqueue_one(store, params=Document('{"to":"ann"}'))
    await store.cancel([job])
    [answer] = await store.replay([job], params=Document('{"to":"bob"}'))
    assert answer.replay is not None
    assert (await found(store, answer.replay)).params == '{"to":"bob"}'
    assert (await found(store, job)).params == '{"to":"ann"}'


async def test_a_job_that_must_not_run_twice_is_run_again_by_who_asks_for_it(store: Store) -> None:
    """With the same promise as before."""
    replay = await replay_one(store, await job_in(store, State.BURIED))
    assert (await found(store, replay)).policy.on_lost is OnLost.BURY


async def test_a_replay_is_claimed_counted_and_told_of(store: Store) -> None:
    """It is a job like any other."""
    job = await cancelled(store)
    replay = await replay_one(store, job)
    [status] = await store.lines()
    assert status.counts == {State.CANCELLED: 1, State.QUEUED: 1}
    assert [(entry.event.job, entry.event.type) for entry in await fed(store, 3)][-1] == (replay, "queued")
    [owned] = await claim(store)
    assert owned.lease.job == replay
    assert (await settle(store, [succeeded(owned)])).lost == []
    assert (await found(store, replay)).state is State.SUCCEEDED


async def test_a_replay_under_way_is_the_answer(store: Store) -> None:
    """Asking twice does not run it twice."""
    job = await cancelled(store)
    replay = await replay_one(store, job)
    again = Replayed(job, State.CANCELLED, replay, fresh=False)
    assert await store.replay([job]) == [again]
    [owned] = await claim(store)
    assert await store.replay([job]) == [again]
    await settle(store, [succeeded(owned)])
    [anew] = await store.replay([job])
    assert anew.fresh
    assert anew.replay != replay


async def test_whoever_insists_gets_another(store: Store) -> None:
    job = await cancelled(store)
    replays = [await replay_one(store, job, forced=True) for _ in range(3)]
    assert len({job, *replays}) == 4
    assert await replay_one(store, job) in replays


async def test_a_replay_can_be_replayed(store: Store) -> None:
    """Each is linked to the one it repeats."""
    job = await cancelled(store)
    replay = await replay_one(store, job)
    await store.cancel([replay])
    again = await replay_one(store, replay)
    assert (await found(store, again)).replay_of == replay
    await store.cancel([again])
    [anew] = await store.replay([job])
    assert anew.fresh


@pytest.mark.parametrize("state", [state for state in State if not state.is_final])
async def test_a_job_that_has_not_finished_is_not_replayed(
    store: Store, backend: Backend, state: State
) -> None:
    job = await job_in(store, state)
    for forced in (False, True):
        assert await store.replay([job], forced=forced) == [Replayed(job, state, None, fresh=False)]
    assert await count(backend, "tenure.job") == 1


async def test_a_job_that_took_over_an_id_is_not_taken_for_its_predecessor(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """The replay under way is of a job that was pruned; the one by that id now has not run even once."""
    job = await cancelled(store)
    await replay_one(store, job)
    await clock.advance(seconds(1))
    await store.prune(Retention(others=timedelta(0)))
    assert await enqueue_one(store, id=job) == job
    for forced in (False, True):
        assert await store.replay([job], forced=forced) == [Replayed(job, State.QUEUED, None, fresh=False)]
    assert await count(backend, "tenure.job") == 2


async def test_every_id_is_answered_in_the_order_asked(store: Store) -> None:
    """Known or not, finished or not, and one that is asked twice gets one replay."""
    first, second, running = (
        await cancelled(store),
        await cancelled(store),
        await job_in(store, State.RUNNING),
    )
    unknown = uuid4()
    requested = [second, unknown, running, first, second]
    answers = await store.replay(requested)
    assert [answer.job for answer in answers] == requested
    assert [answer.state for answer in answers] == [State.CANCELLED, None, State.RUNNING] + [
        State.CANCELLED
    ] * 2
    assert answers[1] == Replayed(unknown, None, None, fresh=False)
    assert answers[0].replay == answers[4].replay
    assert len({answer.replay for answer in answers} - {None}) == 2
    assert await store.replay([]) == []


async def test_two_processes_that_replay_one_job_run_it_once(store: Store, other: Store) -> None:
    for _ in range(20):
        job = await cancelled(store)
        [one], [two] = await asyncio.gather(store.replay([job]), other.replay([job]))
        assert one.replay == two.replay
        assert sorted([one.fresh, two.fresh]) == [False, True]


async def test_a_job_pruned_at_the_same_moment_is_replayed_or_unknown(
    store: Store, other: Store, clock: Clock
) -> None:
    """And never half of both."""
    everything = Retention(succeeded=timedelta(0), others=timedelta(0))
    for _ in range(20):
        job = await cancelled(store)
        await clock.advance(seconds(1))
        [answer], _ = await asyncio.gather(store.replay([job]), other.prune(everything))
        if answer.replay is None:
            assert answer == Replayed(job, None, None, fresh=False)
            assert await store.get(job) is None
        else:
            assert (await found(store, answer.replay)).replay_of == job
            assert [owned.lease.job for owned in await claim(store, lines=[MAIL])] == [answer.replay]


async def test_under_one_key_a_job_is_replayed_once(store: Store, backend: Backend) -> None:
    """Whatever has become of that replay, and however hard it is asked for; another key is another wish."""
    jobs = [await cancelled(store), await cancelled(store)]
    first = await store.replay(jobs, key="k")
    await store.cancel([answer.replay for answer in first if answer.replay])
    for forced in (False, True):
        again = await store.replay(jobs, key="k", forced=forced)
        assert [(one.replay, one.fresh) for one in again] == [(one.replay, False) for one in first]
    assert (await found(store, first[0].replay or uuid4())).key == "k"
    assert all(one.fresh for one in await store.replay(jobs, key="other"))
    assert await count(backend, "tenure.job") == 6


async def test_replays_under_one_key_at_once_make_one(store: Store, other: Store, backend: Backend) -> None:
    job = await cancelled(store)
    answers = await asyncio.gather(*(place.replay([job], key="k") for place in [store, other] * 10))
    assert len({one.replay for [one] in answers}) == 1
    assert sum(one.fresh for [one] in answers) == 1
    assert await count(backend, "tenure.job") == 2


async def test_a_key_for_replays_can_be_kept(store: Store) -> None:
    job = await cancelled(store)
    for key in ("", "x" * 256, "a\nb"):
        with pytest.raises(InvalidInput):
            await store.replay([job], key=key)


@pytest.mark.parametrize("forced", [False, True])
async def test_where_nothing_is_to_be_made_only_earlier_replays_are_answered(
    store: Store, backend: Backend, forced: bool
) -> None:
    """One under way unless forced, one of the same key in any case; what has ended and has none is left."""
    job, other, unfinished = await cancelled(store), await cancelled(store), await enqueue_one(store)
    under_way = await replay_one(store, job)
    [keyed] = await store.replay([other], key="k")
    before = await count(backend, "tenure.job")

    requested = await store.replay([job, other, unfinished], forced=forced, key="k", make=False)

    left = Replayed(job, State.CANCELLED, None, fresh=False)
    assert requested == [
        left if forced else Replayed(job, State.CANCELLED, under_way, fresh=False),
        Replayed(other, State.CANCELLED, keyed.replay, fresh=False),
        Replayed(unfinished, State.QUEUED, None, fresh=False),
    ]
    assert (left.is_left, requested[2].is_left) == (True, False)
    assert await count(backend, "tenure.job") == before
