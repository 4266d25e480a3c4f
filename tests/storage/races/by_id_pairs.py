"""Pairs in which jobs are claimed by their ids, as messages lead to them: none ever goes to two owners."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from tenure.core.model.lease import Order
from tenure.core.model.states import State
from tests.storage.races.collision import BATCH, ONCE, Collision, Ground, Pair, claimed_by, jobs_of
from tests.storage.races.requests import StoreCall, cancels, claims, promotes, prunes, reaps, settles
from tests.storage.verbs import MAIL, seconds, succeeded


def claims_these(worker: str, ids: Sequence[UUID], *, at: datetime | None = None) -> StoreCall:
    order = Order(worker=worker, lines=(MAIL,), limit=len(ids), lease_for=seconds(30))
    return StoreCall("claim_these", (order, ids), at=at)


def _disjoint(one: Any, two: Any) -> bool:
    return claimed_by(one).isdisjoint(claimed_by(two))


async def two_messages_for_the_same_jobs(ground: Ground) -> Collision:
    """Every job goes to one of the two: what one passes over as owned, the other has."""
    jobs = await ground.enqueue()

    def agree(one: Any, two: Any) -> bool:
        both = claimed_by(one) | claimed_by(two)
        return _disjoint(one, two) and both == set(jobs) and one.left.keys() <= claimed_by(two)

    calls = [claims_these(worker, ground.shuffled(jobs)) for worker in ("a", "b")]
    return Collision(calls[0], calls[1], agree)


async def a_message_and_a_claim(ground: Ground) -> Collision:
    """No job goes to both."""
    jobs = await ground.enqueue()
    return Collision(claims_these("a", ground.shuffled(jobs)), claims("b", 12), _disjoint)


async def a_message_and_a_cancel(ground: Ground) -> Collision:
    """Jobs that were claimed first are asked to stop, the others never start."""
    jobs = await ground.enqueue()

    def agree(one: Any, two: Any) -> bool:
        owned = claimed_by(one)
        return all(
            it.moved and it.state is (State.CANCELLING if it.job in owned else State.CANCELLED) for it in two
        )

    return Collision(claims_these("a", ground.shuffled(jobs)), cancels(ground.shuffled(jobs)), agree)


async def a_message_and_pruning(ground: Ground) -> Collision:
    """Of jobs half of which may go, what is claimed stays, and what is gone is unknown or finished."""
    done = await ground.finished()
    jobs = [*done, *await ground.enqueue()]

    def agree(one: Any, two: Any) -> bool:
        gone = {str(left.why) for left in one.left.values()}
        return claimed_by(one) == set(jobs[BATCH:]) and gone <= {"finished", "unknown"} and two.jobs >= BATCH

    return Collision(claims_these("a", ground.shuffled(jobs)), prunes(), agree)


async def messages_for_due_jobs_and_promoting(ground: Ground) -> Collision:
    """Each job is promoted once, by whichever was first, and claimed at most once."""
    jobs = await ground.enqueue(delay=seconds(10))
    at = ground.later(10)

    def agree(one: Any, two: Any) -> bool:
        return claimed_by(one) | one.left.keys() == set(jobs) and jobs_of(two) | claimed_by(one) == set(jobs)

    async def afterwards(one: Any, _two: Any) -> None:
        rest = (await ground.store.settle_and_claim([], Order(worker="c", lines=(MAIL,), limit=100))).claimed
        assert {it.lease.job for it in rest} == set(jobs) - claimed_by(one)

    return Collision(claims_these("a", ground.shuffled(jobs), at=at), promotes(at=at), agree, afterwards)


async def messages_for_lost_jobs_and_reaping(ground: Ground) -> Collision:
    """Each job is taken from its owner once; with no attempt left it has failed, and none is claimed."""
    batch = await ground.owned(policy=ONCE)
    jobs = [owned.lease.job for owned in batch]
    at = ground.later(30)

    def agree(one: Any, two: Any) -> bool:
        told = {str(left.why) for left in one.left.values()}
        return not one.claimed and one.left.keys() == set(jobs) and told <= {"finished", "owned"}

    return Collision(claims_these("b", ground.shuffled(jobs), at=at), reaps(at=at), agree)


async def messages_for_lost_jobs_and_their_settlement(ground: Ground) -> Collision:
    """A lease that ends meanwhile: a job is settled by its owner or taken away, and never both."""
    batch = await ground.owned()
    jobs = [owned.lease.job for owned in batch]

    def agree(one: Any, two: Any) -> bool:
        return claimed_by(one).isdisjoint(jobs_of(two.settled.accepted))

    reports = [succeeded(owned) for owned in ground.shuffled(batch)]
    calls = claims_these("b", ground.shuffled(jobs), at=ground.later(30)), settles("a", reports)
    return Collision(*calls, agree)


PAIRS: tuple[Pair, ...] = (
    two_messages_for_the_same_jobs,
    a_message_and_a_claim,
    a_message_and_a_cancel,
    a_message_and_pruning,
    messages_for_due_jobs_and_promoting,
    messages_for_lost_jobs_and_reaping,
    messages_for_lost_jobs_and_their_settlement,
)
