"""Pairs of verbs about durable steps: those that suspend, tell, answer and keep, beside others."""

from typing import Any

from tenure.core.model.durable import Delivered, EffectAnswer, Keeping, Suspension, Verdict, Wait
from tenure.core.model.lease import Claimed
from tenure.core.model.states import State
from tests.storage.durable_verbs import approval, done, for_answer, for_signal, intended
from tests.storage.races.collision import BATCH, ONCE, Collision, Ground, Pair
from tests.storage.races.requests import StoreCall, cancels, prunes, reaps
from tests.storage.verbs import claim, settle, state_of, succeeded


def _suspends(batch: list[Claimed], wait: Wait) -> StoreCall:
    return StoreCall("suspend", ("a", [Suspension(one.lease, wait) for one in batch]))


async def waiting_and_telling(ground: Ground) -> Collision:
    """A signal that comes at the moment of its wait is never missed, and resumes the job once."""
    batch = await ground.owned()
    job = ground.chance.choice(batch).lease.job

    def agree(states: Any, told: Any) -> bool:
        return len(states) == BATCH and told.delivered in {Delivered.KEPT, Delivered.RESUMED}

    async def afterwards(states: Any, told: Any) -> None:
        assert await state_of(ground.store, job) is State.QUEUED
        [lease] = [lease for lease in states if lease.job == job]
        resumed = State.SUSPENDED if told.delivered is Delivered.RESUMED else State.QUEUED
        assert states[lease] is resumed
        await ground.store.cancel([one.lease.job for one in batch])

    told = StoreCall("signal", (job, approval()))
    return Collision(_suspends(ground.shuffled(batch), for_signal()), told, agree, afterwards)


async def waiting_and_answering(ground: Ground) -> Collision:
    """The same of an answer about an effect in doubt."""
    first = await ground.owned()
    await ground.store.keep_steps("a", [(one.lease, intended()) for one in first])
    await ground.store.hand_back("a", unstarted=[], killed=[one.lease for one in first])
    batch = await claim(ground.store, "a", BATCH)
    job = ground.chance.choice(batch).lease.job

    def agree(states: Any, said: Any) -> bool:
        return len(states) == BATCH and said.verdict in {Verdict.RECORDED, Verdict.RESUMED}

    async def afterwards(_states: Any, _said: Any) -> None:
        assert await state_of(ground.store, job) is State.QUEUED
        await ground.store.cancel([one.lease.job for one in batch])

    said = StoreCall("answer", (job, EffectAnswer(step="charge", happened=True, by="ann")))
    return Collision(_suspends(ground.shuffled(batch), for_answer()), said, agree, afterwards)


async def waiting_and_cancelling(ground: Ground) -> Collision:
    """Whichever was first, all are cancelled, and nothing is due any more.

    A cancellation that has waited for the suspension does not see its rows: they stay until the job goes.
    """
    batch = await ground.owned()

    async def afterwards(_states: Any, _standings: Any) -> None:
        assert {await state_of(ground.store, one.lease.job) for one in batch} == {State.CANCELLED}
        assert await ground.backend.sql("SELECT * FROM tenure.timer WHERE kind <> 'wait'") == []
        assert await ground.store.open_waits(jobs) == {}

    jobs = [one.lease.job for one in batch]
    suspends = _suspends(ground.shuffled(batch), for_signal())
    return Collision(suspends, cancels(ground.shuffled(jobs)), lambda one, _: len(one) == BATCH, afterwards)


async def telling_and_cancelling(ground: Ground) -> Collision:
    """One of them ends the wait; the signal is kept unless the job has ended before."""
    batch = await ground.owned()
    await ground.store.suspend("a", [Suspension(one.lease, for_signal()) for one in batch])
    jobs = [one.lease.job for one in batch]

    def agree(told: Any, standings: Any) -> bool:
        return told.delivered in {Delivered.RESUMED, Delivered.FINISHED} and all(
            one.moved for one in standings
        )

    async def afterwards(_told: Any, _standings: Any) -> None:
        assert await claim(ground.store, "a", BATCH) == []  # which drops the place that a cancellation left

    told = StoreCall("signal", (ground.chance.choice(jobs), approval()))
    return Collision(told, cancels(ground.shuffled(jobs)), agree, afterwards)


async def keeping_and_reaping(ground: Ground) -> Collision:
    """A step is kept by its owner or not at all: none appears behind a lease that was taken away."""
    batch = await ground.owned(policy=ONCE)

    def agree(kept: Any, reaped: Any) -> bool:
        return set(kept) <= {Keeping.KEPT, Keeping.LOST} and len(reaped) <= BATCH

    async def afterwards(kept: Any, _reaped: Any) -> None:
        found = [await ground.store.count_steps(one.lease.job) for one in order]
        assert found == [int(one is Keeping.KEPT) for one in kept]
        await ground.store.reap(2 * BATCH)

    order = ground.shuffled(batch)
    keeps = StoreCall("keep_steps", ("a", [(one.lease, done()) for one in order]))
    return Collision(keeps, reaps(at=ground.later(30)), agree, afterwards)


async def two_that_keep(ground: Ground) -> Collision:
    """Steps of the same jobs from two processes: each is there once, and the count is right."""
    batch = await ground.owned()

    async def afterwards(_one: Any, _two: Any) -> None:
        wrong = await ground.backend.sql(
            "SELECT kept.job FROM tenure.kept AS kept"
            " WHERE steps <> (SELECT count(*) FROM tenure.step AS step WHERE step.job = kept.job)"
            "    OR bytes <> (SELECT sum(size) FROM tenure.step AS step WHERE step.job = kept.job)"
        )
        assert wrong == []
        await settle(ground.store, map(succeeded, batch))

    calls = [
        StoreCall(
            "keep_steps",
            (
                "a",
                [(one.lease, step) for one in ground.shuffled(batch) for step in (done("same"), done(own))],
            ),
        )
        for own in ("one", "two")
    ]
    return Collision(calls[0], calls[1], lambda one, two: {*one, *two} == {Keeping.KEPT}, afterwards)


async def telling_and_pruning(ground: Ground) -> Collision:
    """Nothing is left of a job that goes at the moment at which it is told something."""
    jobs = await ground.finished()
    job = ground.chance.choice(jobs)

    def agree(told: Any, pruned: Any) -> bool:
        return (told is None or told.delivered is Delivered.FINISHED) and pruned.jobs >= 0

    return Collision(StoreCall("signal", (job, approval())), prunes(), agree)


PAIRS: tuple[Pair, ...] = (
    waiting_and_telling,
    waiting_and_answering,
    waiting_and_cancelling,
    telling_and_cancelling,
    keeping_and_reaping,
    two_that_keep,
    telling_and_pruning,
)
