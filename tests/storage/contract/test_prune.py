"""Pruning: finished jobs whose time is over go with all that belongs to them, and nothing else goes."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.child_keys import CHILDREN
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.core.values.documents import Document
from tenure.core.values.ids import uuid7
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import (
    claim,
    columns_of,
    count,
    enqueue_one,
    found,
    job_in,
    jobs_and_next,
    line,
    listed,
    note,
    one_in_each_state,
    path_of,
    record_of,
    seconds,
    settle,
    succeeded,
    trail,
)

DAY = timedelta(days=1)
NONE = timedelta(0)
EVERYTHING = Retention(succeeded=NONE, others=NONE, keyed=NONE)
FINAL = [state for state in State if state.is_final]
OF_A_JOB = ("job", "event", "attempt", "log", "result", "tag", "finished", "timer", "ready")


async def left(store: Store, jobs: dict[State, UUID]) -> set[State]:
    return {state for state, job in jobs.items() if await store.get(job) is not None}


def permitted(backend: Backend, delete: str) -> str:
    """A deletion under the permission that pruning gives itself."""
    texts = {
        "sqlite": f"BEGIN; INSERT INTO tenure.permit VALUES (1); {delete}; DELETE FROM tenure.permit; COMMIT",
        "postgres": f"""DO $$ BEGIN PERFORM set_config('tenure.pruning', 'on', true); {delete}; END $$""",
    }
    return texts[backend.kind]


async def test_success_goes_after_a_week_and_the_rest_after_a_month(store: Store, clock: Clock) -> None:
    """S0.72: and what has not finished stays for ever."""
    jobs = await one_in_each_state(store)
    await clock.advance(7 * DAY - seconds(1))
    assert jobs_and_next(await store.prune(Retention())) == (0, None)
    await clock.advance(seconds(2))
    assert (await store.prune(Retention())).jobs == 1
    assert await left(store, jobs) == set(State) - {State.SUCCEEDED}
    await clock.advance(23 * DAY - seconds(2))
    assert (await store.prune(Retention())).jobs == 0
    await clock.advance(seconds(2))
    assert (await store.prune(Retention())).jobs == 3
    await clock.advance(3000 * DAY)
    assert jobs_and_next(await store.prune(EVERYTHING)) == (0, None)
    assert await left(store, jobs) == {state for state in State if not state.is_final}


async def test_what_has_not_finished_is_not_touched(store: Store, clock: Clock) -> None:
    """S0.72: not a single word of it."""
    jobs = [await job_in(store, state) for state in State if not state.is_final]
    before = [await record_of(store, job) for job in jobs]
    await clock.advance(1000 * DAY)
    assert jobs_and_next(await store.prune(EVERYTHING)) == (0, None)
    assert [await record_of(store, job) for job in jobs] == before


async def test_the_time_counts_from_the_end_of_the_job(store: Store, clock: Clock) -> None:
    """Not from its beginning, however long it took."""
    job = await enqueue_one(store, delay=20 * DAY)
    await clock.advance(20 * DAY)
    await store.promote(10)
    await settle(store, [succeeded(claimed) for claimed in await claim(store)])
    await clock.advance(6 * DAY)
    assert (await store.prune(Retention())).jobs == 0
    await clock.advance(DAY + seconds(1))
    assert (await store.prune(Retention())).jobs == 1
    assert await store.get(job) is None


async def test_a_job_with_a_key_is_kept_for_as_long_as_the_key_counts(store: Store, clock: Clock) -> None:
    """Then the key is free again."""
    keyed = await enqueue_one(store, key="mine")
    plain = await enqueue_one(store)
    await store.cancel([keyed, plain])
    retention = Retention(succeeded=NONE, others=DAY, keyed=9 * DAY)
    await clock.advance(2 * DAY)
    assert (await store.prune(retention)).jobs == 1
    assert await store.get(plain) is None
    assert await enqueue_one(store, key="mine") == keyed
    await clock.advance(7 * DAY + seconds(1))
    assert (await store.prune(retention)).jobs == 1
    assert await enqueue_one(store, key="mine") != keyed


async def test_a_key_shortens_no_ones_time(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store, key="mine")
    await store.cancel([job])
    await clock.advance(9 * DAY)
    assert (await store.prune(Retention(others=10 * DAY, keyed=DAY))).jobs == 0
    assert await store.get(job) is not None


@pytest.mark.parametrize("state", FINAL)
async def test_nothing_of_a_pruned_job_is_left(
    store: Store, backend: Backend, clock: Clock, state: State
) -> None:
    """Not in any table, and no verb knows it."""
    limits = (Limit("api"), Limit("tenant", "ann"))
    requested = {"tags": ("red", "blue"), "limits": limits, "params": Document('{"to":"ann"}'), "key": "mine"}
    job = await job_in(store, state, **requested)
    await clock.advance(seconds(1))
    assert jobs_and_next(await store.prune(EVERYTHING)) == (1, None)

    assert (await store.get(job), await store.events(job), await store.attempts(job)) == (None, [], [])
    assert [await count(backend, f"tenure.{table}") for table in OF_A_JOB] == [0] * len(OF_A_JOB)
    assert await count(backend, "tenure.job_state") == 0
    assert await listed(store) == await listed(store, Filter(tag="red")) == []
    assert await store.feed() == []
    assert await store.cancel([job]) == await store.accept([job]) == await store.give_up([job]) == []
    assert [(answer.state, answer.replay) for answer in await store.replay([job])] == [(None, None)]
    assert [status.counts for status in await store.lines()] == [{}]


async def test_what_its_attempts_said_goes_with_a_job(store: Store, backend: Backend, clock: Clock) -> None:
    """Log lines and notes; those of jobs that stay, stay."""
    gone, kept = await enqueue_one(store), await enqueue_one(store)
    owned = {one.lease.job: one for one in await claim(store)}
    await store.record("a", [trail(one, line(1), line(2), note()) for one in owned.values()])
    await settle(store, [succeeded(owned[gone])])
    await clock.advance(seconds(1))
    assert jobs_and_next(await store.prune(EVERYTHING)) == (1, None)
    assert (await store.logs(gone), await store.events(gone)) == ([], [])
    assert len(await store.logs(kept)) == await count(backend, "tenure.log") == 2
    assert "custom:sent" in await path_of(store, kept)


async def test_pruning_goes_on_from_batch_to_batch(store: Store, clock: Clock) -> None:
    """Each looks at so many jobs and no more, whether they go or stay, and says where the next begins."""
    jobs = [await enqueue_one(store) for _ in range(9)]
    kept = jobs[::3]
    await store.cancel([job for job in jobs if job not in kept])
    await clock.advance(seconds(1))
    pruned = await store.prune(EVERYTHING, limit=2)
    rounds = [pruned.jobs]
    while pruned.next is not None:
        pruned = await store.prune(EVERYTHING, after=pruned.next, limit=2)
        rounds.append(pruned.jobs)
    assert sum(rounds) == 6
    assert max(rounds) <= 2
    assert [job.id for job in await listed(store, newest_first=False)] == kept


async def test_a_batch_begins_behind_the_id_it_is_given(store: Store, clock: Clock) -> None:
    jobs = [await enqueue_one(store) for _ in range(4)]
    await store.cancel(jobs)
    await clock.advance(seconds(1))
    assert (await store.prune(EVERYTHING, after=jobs[1])).jobs == 2
    assert {job.id for job in await listed(store)} == set(jobs[:2])


@pytest.mark.parametrize("id_", [UUID(int=0), UUID(int=2**128 - 1)], ids=["smallest", "largest"])
async def test_an_id_of_the_callers_making_saves_nobody(store: Store, clock: Clock, id_: UUID) -> None:
    """The first and the last that there can be are looked at too."""
    await enqueue_one(store, id=id_)
    await store.cancel([id_])
    await clock.advance(seconds(1))
    assert jobs_and_next(await store.prune(EVERYTHING)) == (1, None)


async def test_links_to_a_pruned_job_may_stay(store: Store, clock: Clock) -> None:
    """Whoever refers to it is none the worse."""
    parent = await job_in(store, State.SUCCEEDED)
    child = await enqueue_one(store, parent=parent)
    [replayed] = await store.replay([parent])
    assert replayed.replay is not None
    await clock.advance(seconds(1))
    await store.prune(EVERYTHING)
    assert (await found(store, child)).parent == parent
    assert (await found(store, replayed.replay)).replay_of == parent
    lines = (Line("default", "mail"), Line("default", "succeeded"))
    turn = await store.settle_and_claim([], Order(worker="a", lines=lines, limit=5))
    assert {claimed.lease.job for claimed in turn.claimed} == {child, replayed.replay}


async def test_no_worker_and_no_duty_deletes_a_job(store: Store, backend: Backend, clock: Clock) -> None:
    """S0.72, S3.63: whatever verb is called and however much time passes, retention alone removes."""
    async for verb, jobs in lives(store, clock):
        await store.tidy()
        assert await count(backend, "tenure.job") == await count(backend, "tenure.job_state") == len(jobs), (
            verb
        )
    await clock.advance(3000 * DAY)
    await store.reap(100)
    await store.promote(100)
    await store.tidy()
    assert [job for job in jobs if await store.get(job) is None] == []


@pytest.mark.parametrize("table", ["job", "job_state", "event", "attempt", "log", "result"])
async def test_a_deletion_by_hand_is_refused_after_pruning_too(
    store: Store, backend: Backend, clock: Clock, table: str
) -> None:
    """S0.72: the permission ends with the call."""
    await job_in(store, State.CANCELLED)
    await clock.advance(seconds(1))
    await store.prune(EVERYTHING)
    await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, line(1))])
    await settle(store, [succeeded(owned)])
    with pytest.raises(Refused, match="only retention deletes"):
        await backend.sql(f"DELETE FROM tenure.{table}")


@pytest.mark.parametrize("state", list(State))
async def test_even_with_permission_only_finished_jobs_go(
    store: Store, backend: Backend, state: State
) -> None:
    """S0.72: should pruning itself go wrong, the database does not let it take what is unfinished."""
    job = await job_in(store, state)
    text = permitted(backend, f"DELETE FROM tenure.job_state WHERE id = '{job}'")
    if state.is_final:
        await backend.sql(text)
        assert await count(backend, "tenure.job_state") == 0
    else:
        with pytest.raises(Refused, match="only finished jobs"):
            await backend.sql(text)
        assert (await found(store, job)).state is state


async def test_the_permission_to_prune_lets_nobody_rewrite(store: Store, backend: Backend) -> None:
    """S0.72: it is one to delete, not to change."""
    await job_in(store, State.SUCCEEDED)
    for table in ("job", "event", "attempt", "result"):
        [column, *_] = await columns_of(backend, f"tenure.{table}")
        with pytest.raises(Refused, match="stays as it is"):
            await backend.sql(permitted(backend, f"UPDATE tenure.{table} SET {column} = {column}"))


async def test_a_buried_job_goes_with_the_others(store: Store, clock: Clock) -> None:
    """One whose end the reaper wrote, while its worker was away."""
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    assert (await found(store, job)).state is State.BURIED
    await clock.advance(30 * DAY + seconds(1))
    assert (await store.prune(Retention())).jobs == 1


async def test_by_age_the_walk_ends_where_jobs_are_too_young(store: Store, clock: Clock) -> None:
    """What is kept anyway is not looked at: a walk costs what it removes, and a day's jobs more."""
    await enqueue_one(store)
    old = await claim(store)
    await settle(store, [succeeded(one) for one in old])
    await clock.advance(9 * DAY)
    now = int((await store.now()).timestamp() * 1000)
    young = [uuid7(now + n, bytes(10)) for n in range(5)]
    for job in young:
        await enqueue_one(store, id=job)
    week = Retention()
    assert jobs_and_next(await store.prune(week, limit=2)) == (1, young[0])
    assert jobs_and_next(await store.prune(week, limit=2, by_age=True)) == (0, None)
    assert jobs_and_next(await store.prune(EVERYTHING, limit=2, by_age=True)) == (0, young[1])


async def test_by_age_nothing_is_missed_but_ids_that_lie(store: Store, clock: Clock) -> None:
    """A caller's own id may say anything; who looks everywhere finds it too."""
    honest = await enqueue_one(store)
    lying = await enqueue_one(store, id=UUID("ffffffff-ffff-4fff-bfff-ffffffffffff"))
    await settle(store, [succeeded(one) for one in await claim(store)])
    await clock.advance(8 * DAY)
    assert (await store.prune(Retention(), by_age=True)).jobs == 1
    assert await store.get(honest) is None
    assert await store.get(lying) is not None
    assert (await store.prune(Retention())).jobs == 1


async def test_a_child_stays_while_its_parent_may_ask_for_it_again(store: Store, clock: Clock) -> None:
    """However long ago it ended: that is what its key is for. Other children go when their time is over."""
    await enqueue_one(store)
    [parent] = await claim(store)
    known = NewJob(definition="child", scope=CHILDREN, key=f"{parent.lease.job}/child/0/1")
    other = NewJob(definition="child")
    first = await store.spawn("a", parent.lease, [known, other])
    assert first is not None
    owned = await claim(store, limit=2, lines=[Line("default", "child")])
    await settle(store, [succeeded(one) for one in owned])
    await store.hand_back("a", unstarted=[parent.lease], killed=[])
    await clock.advance(400 * DAY)
    await store.prune(EVERYTHING)
    assert [await store.get(one.id) is not None for one in first] == [True, False]

    [again] = await claim(store)
    [found_again] = await store.spawn("a", again.lease, [known]) or []
    assert (found_again.id, found_again.fresh) == (first[0].id, False)
    await settle(store, [succeeded(again)])
    await store.prune(EVERYTHING)
    assert await listed(store) == []


async def test_a_child_whose_parent_is_gone_is_kept_as_long_as_one_without_a_key(
    store: Store, clock: Clock
) -> None:
    """It is for its parent alone: once that has ended, nobody asks for it any more."""
    await enqueue_one(store)
    [parent] = await claim(store)
    known = NewJob(definition="child", scope=CHILDREN, key=f"{parent.lease.job}/child/0/1")
    asked_for = NewJob(definition="child", scope="child", key="own")
    made = await store.spawn("a", parent.lease, [known, asked_for])
    assert made is not None
    owned = await claim(store, limit=2, lines=[Line("default", "child")])
    await settle(store, [succeeded(one) for one in [*owned, parent]])
    await clock.advance(2 * DAY)
    await store.prune(Retention(succeeded=DAY, others=DAY, keyed=7 * DAY))
    assert [one.id for one in await listed(store)] == [made[1].id]
