"""Signals: a job is told something before it waits for it, or while it does; the first of a name stands."""

from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import LARGEST_STEP, MOST_SIGNALS, Delivered, Keeping, Signalled, StepKind
from tenure.core.model.states import FINAL, State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    approval,
    done,
    for_signal,
    held,
    held_again,
    keep,
    recalled,
    sleep,
    suspend,
    suspended_for,
    tell,
)
from tests.storage.verbs import (
    claim,
    count,
    found,
    job_in,
    path_of,
    record_of,
    seconds,
    settle,
    state_of,
    succeeded,
    suspended,
)


@pytest.mark.parametrize("for_a_while", [False, True])
async def test_a_job_that_waits_for_it_is_in_line_again(
    store: Store, backend: Backend, for_a_while: bool
) -> None:
    """Whoever told it is on record."""
    job = await suspended_for(store, for_signal(timeout=seconds(60) if for_a_while else None))

    assert await tell(store, job) == Signalled(Delivered.RESUMED, State.QUEUED)

    event = (await store.events(job))[-1]
    assert (event.type, event.actor, event.source) == ("resumed", "ann", State.SUSPENDED)
    assert await store.open_waits([job]) == {}
    assert await count(backend, "tenure.timer") == 0
    assert (await recalled(store, await held_again(store))).signals == {"approved": '{"ok":true}'}


async def test_it_is_kept_for_a_job_that_does_not_wait_yet(store: Store) -> None:
    lease = await held(store)
    before = await record_of(store, lease.job)
    assert await tell(store, lease.job) == Signalled(Delivered.KEPT, State.RUNNING)
    assert await record_of(store, lease.job) == before
    assert await store.signals(lease.job) == [approval()]


async def test_one_that_is_not_waited_for_wakes_nobody(store: Store) -> None:
    job = await suspended_for(store, for_signal())
    assert await tell(store, job, approval(name="other")) == Signalled(Delivered.KEPT, State.SUSPENDED)
    asleep = await suspended_for(store, sleep())
    assert await tell(store, asleep) == Signalled(Delivered.KEPT, State.SUSPENDED)


async def test_the_first_one_stands(store: Store) -> None:
    """The same again is no error, so that a caller may repeat what it heard no answer to."""
    job = await suspended_for(store, for_signal())
    await tell(store, job)
    assert await tell(store, job) == Signalled(Delivered.REPEATED, State.QUEUED)
    assert await tell(store, job, approval(by="bob")) == Signalled(Delivered.REPEATED, State.QUEUED)
    assert await tell(store, job, approval("2")) == Signalled(Delivered.DIFFERS, State.QUEUED)
    assert await store.signals(job) == [approval()]
    assert await path_of(store, job) == ["queued", "started", "suspended", "resumed"]


@pytest.mark.parametrize("state", sorted(set(State)))
async def test_every_job_that_has_not_ended_may_be_told(store: Store, state: State) -> None:
    """S0.24: a finished job never changes."""
    job = await job_in(store, state)
    before = await record_of(store, job)
    kept = Delivered.FINISHED if state in FINAL else Delivered.KEPT
    assert await tell(store, job) == Signalled(kept, state)
    assert await record_of(store, job) == before
    assert len(await store.signals(job)) == (state not in FINAL)


async def test_what_was_told_before_the_end_is_the_same_after_it(store: Store) -> None:
    lease = await held(store)
    await tell(store, lease.job)
    await settle(store, [succeeded(lease)])
    assert await tell(store, lease.job) == Signalled(Delivered.REPEATED, State.SUCCEEDED)
    assert await tell(store, lease.job, approval("2")) == Signalled(Delivered.DIFFERS, State.SUCCEEDED)


async def test_an_unknown_job_cannot_be_told(store: Store) -> None:
    assert await store.signal(uuid4(), approval()) is None


async def test_a_wait_that_is_over_wakes_nobody(store: Store, clock: Clock) -> None:
    """The row of a wait counts only under the fence that wrote it."""
    lease = await held(store)
    await suspend(store, lease, for_signal(timeout=seconds(60)))
    await clock.advance(seconds(60))
    await store.promote(10)
    [again] = await claim(store)
    await settle(store, [suspended(again, seconds(600))])
    assert await tell(store, lease.job) == Signalled(Delivered.KEPT, State.SUSPENDED)
    assert await state_of(store, lease.job) is State.SUSPENDED
    assert await store.open_waits([lease.job]) == {}


async def test_once_the_handler_has_it_the_wait_is_past(store: Store, clock: Clock, backend: Backend) -> None:
    """That the time ran out is on record before a signal that comes later."""
    lease = await held(store)
    await suspend(store, lease, for_signal(timeout=seconds(60)))
    await clock.advance(seconds(60))
    await store.promote(10)
    lease = await held_again(store)
    step = done("wait:approved", "null", kind=StepKind.WAIT)
    assert await keep(store, lease, step) == [Keeping.KEPT]
    assert await count(backend, "tenure.wait") == 0
    assert await tell(store, lease.job) == Signalled(Delivered.KEPT, State.RUNNING)
    assert [one.body for one in (await recalled(store, lease)).steps] == ["null"]


async def test_signals_are_told_in_the_order_in_which_they_came(store: Store, clock: Clock) -> None:
    lease = await held(store)
    for name in ("b", "a"):
        await tell(store, lease.job, approval(name=name))
        await clock.advance(seconds(1))
    assert [signal.name for signal in await store.signals(lease.job)] == ["b", "a"]


async def test_a_job_is_sent_only_so_many(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await tell(store, lease.job)
    await backend.sql(
        "WITH RECURSIVE numbers (n) AS"
        f" (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MOST_SIGNALS})"
        " INSERT INTO tenure.signal (job, name, at, by, body)"
        " SELECT job, 'n' || n, at, by, body FROM tenure.signal CROSS JOIN numbers"
    )
    assert await tell(store, lease.job, approval(name="more")) == Signalled(Delivered.FULL, State.RUNNING)
    assert await tell(store, lease.job) == Signalled(Delivered.REPEATED, State.RUNNING)


async def test_a_payload_has_a_largest_size() -> None:
    approval("1" * LARGEST_STEP)
    with pytest.raises(InvalidInput, match="payload"):
        approval("1" * (LARGEST_STEP + 1))


async def test_its_job_is_claimed_in_its_turn(store: Store, clock: Clock) -> None:
    job = await suspended_for(store, for_signal())
    await clock.advance(seconds(5))
    await tell(store, job)
    assert (await found(store, job)).queued_at == clock.now
    [again] = await claim(store)
    assert (again.lease.job, again.attempt) == (job, 1)
