"""The states of an attempt in a slot pool, as the table at the head of its module shows them."""

from datetime import UTC, datetime
from time import monotonic
from uuid import uuid4

import pytest

from tenure.core.model.job import Enqueued
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.outcome import Report, Succeeded
from tenure.core.model.policy import Policy
from tenure.core.signals import AttemptLost, AttemptStarted, Signal
from tenure.core.values.documents import EMPTY
from tenure.engine.config import LeaseDeadlines
from tenure.engine.worker import slot_pool
from tenure.engine.worker.held_attempt import HeldAttempt, StoreCalls
from tenure.engine.worker.slot_groups import SlotGroup
from tenure.engine.worker.slot_pool import SlotPool
from tenure.execution.parent.attempt_terms import StopReason
from tenure.execution.protocol.durable import Answer, Kept


class Pool(SlotPool):
    """A pool of one slot, with room for two more, that keeps its signals and counts its changes."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self.changes = 0
        super().__init__(
            SlotGroup("process", lines=(), slots=1, buffer=2),
            on_signal=self.signals.append,
            on_change=self._count_change,
        )

    def claimed(self, *, ends_in: float = 60) -> HeldAttempt:
        """A newly claimed attempt, which waits."""
        now, end = datetime.now(UTC), monotonic() + ends_in
        claimed = Claimed(
            lease=Lease(uuid4(), 1),
            namespace="default",
            definition="mail",
            version=1,
            queue="default",
            params=EMPTY,
            policy=Policy(),
            attempt=1,
            traceparent=None,
            queued_at=now,
            started_at=now,
        )
        calls = StoreCalls(_spawn_nothing, _answer_nothing)
        attempt = HeldAttempt(claimed, LeaseDeadlines(end, end), calls, self.signals.append)
        self.add(attempt)
        return attempt

    def _count_change(self) -> None:
        self.changes += 1


async def _answer_nothing(*_: object) -> Answer:
    return Kept()


async def _spawn_nothing(*_: object) -> list[Enqueued]:
    return []


@pytest.fixture
def pool() -> Pool:
    return Pool()


def test_an_attempt_waits_until_the_slot_is_free(pool: Pool) -> None:
    first, second = pool.claimed(), pool.claimed()
    assert pool.start_next() is first
    assert pool.start_next() is None
    assert (pool.running, pool.waiting, pool.room) == (1, 1, 1)
    pool.finish(first, Report(first.lease, Succeeded(EMPTY)))
    assert pool.start_next() is second
    assert [type(signal) for signal in pool.signals] == [AttemptStarted, AttemptStarted]


def test_what_is_done_is_held_until_the_store_has_answered(pool: Pool) -> None:
    attempt = pool.claimed()
    pool.start_next()
    pool.finish(attempt, Report(attempt.lease, Succeeded(EMPTY)))
    assert (pool.done, list(pool.take_done()), pool.is_settled) == (1, [attempt.lease], False)
    assert (pool.held(), pool.unended()) == ([attempt], [])
    pool.mark_settled(attempt.lease)
    assert (pool.held(), pool.is_settled) == ([], True)


def test_what_is_given_back_is_held_until_the_store_has_answered(pool: Pool) -> None:
    begun, waiting = pool.claimed(), pool.claimed()
    pool.start_next()
    pool.give_back(begun, "killed", has_begun=True)
    pool.give_back(waiting, "too late")
    assert pool.take_returns() == ({waiting.lease: waiting}, {begun.lease: begun})
    assert pool.held() == pool.unended() == [begun, waiting]
    for attempt in (begun, waiting):
        pool.mark_returned(attempt.lease)
    assert (pool.has_returns, pool.held()) == (False, [])


def test_what_is_lost_is_forgotten_at_once(pool: Pool) -> None:
    running, waiting = pool.claimed(), pool.claimed(ends_in=0)
    pool.start_next()
    pool.halt_expiring()
    assert (pool.waiting, running.stop.reason, waiting.stop.reason) == (0, None, StopReason.LOST)
    pool.lose(running)
    assert pool.held() == []
    assert [signal.fenced for signal in pool.signals if isinstance(signal, AttemptLost)] == [True, True]


def test_a_pool_that_drains_gives_back_what_waits_and_never_opens_again(pool: Pool) -> None:
    running, waiting = pool.claimed(), pool.claimed()
    pool.start_next()
    pool.drain()
    pool.reopen()
    assert (pool.is_open, pool.room, pool.changes) == (False, 0, 1)
    assert (list(pool.active()), list(pool.take_returns()[0])) == ([running], [waiting.lease])
    pool.halt()
    assert running.stop.reason is StopReason.SHUTDOWN
    assert not pool.idle.is_set()


def test_nothing_starts_while_the_store_does_not_answer(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outcome might come after its lease: it would run twice."""
    monkeypatch.setattr(slot_pool, "HELD_FOR", 0.0)
    attempt = pool.claimed()
    pool.mark_asked(monotonic())
    assert pool.start_next() is None
    pool.mark_answered()
    assert pool.start_next() is attempt


def test_a_job_that_is_put_aside_is_forgotten_in_every_state(pool: Pool) -> None:
    done, killed, unstarted = pool.claimed(), pool.claimed(), pool.claimed()
    pool.start_next()
    pool.finish(done, Report(done.lease, Succeeded(EMPTY)))
    pool.give_back(killed, "killed", has_begun=True)
    pool.give_back(unstarted, "too late")
    for attempt in (done, killed, unstarted):
        pool.drop(attempt.lease.job)
    assert (pool.held(), pool.is_settled) == ([], True)
    assert [signal.aside for signal in pool.signals if isinstance(signal, AttemptLost)] == [True] * 3
