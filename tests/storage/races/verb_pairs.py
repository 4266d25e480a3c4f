"""Pairs of verbs that want the same jobs, one collision at a time.

Each prepares a batch of its own, names the two calls, with ids in random order, and what both answers must
have in common, whichever was first. Every verb that moves jobs belongs into some pair here. Pairs that want
slots of limits are in `limit_pairs`, those that prune in `prune_pairs`, those that fire schedules in
`schedule_pairs`, those that fan out and deliver in `webhook_pairs`, claims by id in `by_id_pairs`,
those about durable steps in `durable_pairs`.
"""

from typing import Any

from tenure.core.errors import StoreBusy
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tests.storage.races import (
    by_id_pairs,
    durable_pairs,
    limit_pairs,
    mend_pairs,
    prune_pairs,
    schedule_pairs,
    webhook_pairs,
)
from tests.storage.races.collision import BATCH, ONCE, Collision, Ground, Pair, claimed_by, jobs_of
from tests.storage.races.requests import (
    beats,
    cancels,
    claims,
    enqueues,
    gives_up,
    promotes,
    reaps,
    reschedules,
    settles,
    turns,
)
from tests.storage.verbs import recoverable, seconds, settle, succeeded


async def two_claims(ground: Ground) -> Collision:
    """No job goes to both."""
    await ground.enqueue()

    def agree(one: Any, two: Any) -> bool:
        return claimed_by(one).isdisjoint(claimed_by(two))

    return Collision(claims("a", 12), claims("b", 12), agree)


async def settling_and_reaping(ground: Ground) -> Collision:
    """A lease that ends meanwhile: a job is settled or taken away, and never both."""
    batch = await ground.owned(policy=ONCE)

    def agree(one: Any, two: Any) -> bool:
        settled = one.settled
        return len(settled.accepted) + len(settled.lost) == BATCH and jobs_of(settled.accepted).isdisjoint(
            jobs_of(two)
        )

    reports = [succeeded(owned) for owned in ground.shuffled(batch)]
    return Collision(settles("a", reports), reaps(at=ground.later(30)), agree)


async def cancelling_and_claiming(ground: Ground) -> Collision:
    """Jobs that were claimed first are asked to stop, the others never start."""
    jobs = await ground.enqueue()

    def agree(one: Any, two: Any) -> bool:
        owned = claimed_by(two)
        return all(
            it.moved and it.state is (State.CANCELLING if it.job in owned else State.CANCELLED) for it in one
        )

    return Collision(cancels(ground.shuffled(jobs)), claims("a"), agree)


async def cancelling_and_settling(ground: Ground) -> Collision:
    """Nothing is lost: a success stands, and a failure has ended, or been cancelled, or is cancelled now."""
    batch = await ground.owned()
    reports = [*map(succeeded, batch[::2]), *map(recoverable, batch[1::2])]

    def agree(one: Any, two: Any) -> bool:
        standings = {it.job: it for it in one}
        return not two.settled.lost and all(
            state is State.SUCCEEDED
            or (state is State.CANCELLED) == (standings[lease.job].state is State.CANCELLING)
            for lease, state in two.settled.accepted.items()
        )

    jobs = [owned.lease.job for owned in batch]
    return Collision(cancels(ground.shuffled(jobs)), settles("a", ground.shuffled(reports)), agree)


async def beating_and_reaping(ground: Ground) -> Collision:
    """A lease is kept or its jobs are taken, and never both."""
    batch = await ground.owned(policy=ONCE)

    def agree(one: Any, two: Any) -> bool:
        return len(one.kept) + len(one.lost) == BATCH and jobs_of(one.kept).isdisjoint(jobs_of(two))

    leases = [owned.lease for owned in ground.shuffled(batch)]
    return Collision(beats("a", leases), reaps(at=ground.later(30)), agree)


async def beating_and_cancelling(ground: Ground) -> Collision:
    """Progress is written and the request to stop is made, whichever comes first."""
    batch = await ground.owned()

    def agree(one: Any, two: Any) -> bool:
        return len(one.kept) == BATCH and all(it.state is State.CANCELLING for it in two)

    leases = [owned.lease for owned in ground.shuffled(batch)]
    jobs = [owned.lease.job for owned in ground.shuffled(batch)]
    return Collision(beats("a", leases), cancels(jobs), agree)


async def two_enqueues(ground: Ground) -> Collision:
    """The same keys from both ends: one job each, made by one of them."""
    mark = ground.chance.random()
    keys = [f"{mark}-{n}" for n in range(5 * BATCH)]
    one, two = ground.shuffled(keys), ground.shuffled(keys)

    def agree(first: Any, second: Any) -> bool:
        by_key = dict(zip(two, second, strict=True))
        return all(
            it.id == by_key[key].id and it.fresh != by_key[key].fresh
            for key, it in zip(one, first, strict=True)
        )

    calls = [enqueues([NewJob(definition="mail", key=key) for key in keys]) for keys in (one, two)]
    return Collision(calls[0], calls[1], agree, excused=(StoreBusy,))


async def promoting_and_cancelling(ground: Ground) -> Collision:
    """In line already or not yet: it is cancelled."""
    jobs = await ground.enqueue(delay=seconds(10))

    def agree(one: Any, two: Any) -> bool:
        return all(it.moved and it.state is State.CANCELLED for it in two)

    return Collision(promotes(at=ground.later(10)), cancels(ground.shuffled(jobs)), agree)


async def rescheduling_and_promoting(ground: Ground) -> Collision:
    """In line already, or moved to a later time: never both."""
    jobs = await ground.enqueue(delay=seconds(10))

    def agree(one: Any, two: Any) -> bool:
        moved = {it.job for it in one if it.moved}
        return moved.isdisjoint(jobs_of(two)) and all(it.moved or it.state is State.QUEUED for it in one)

    calls = reschedules(ground.shuffled(jobs), seconds(3600)), promotes(at=ground.later(10))
    return Collision(*calls, agree)


async def rescheduling_and_giving_up(ground: Ground) -> Collision:
    """Moved first or not: all are given up, and none is lost between two times."""
    batch = await ground.owned()
    await settle(ground.store, map(recoverable, batch))
    jobs = [owned.lease.job for owned in batch]

    def agree(one: Any, two: Any) -> bool:
        return all(it.moved is not it.is_given_up for it in one) and all(it.moved for it in two)

    calls = reschedules(ground.shuffled(jobs), seconds(3600)), gives_up(ground.shuffled(jobs))
    return Collision(*calls, agree)


async def a_turn_and_a_bulk_cancel(ground: Ground) -> Collision:
    """Settling and claiming in one statement against a cancel of all that it might touch, and more."""
    batch = await ground.owned()
    waiting = [*await ground.enqueue(), *await ground.enqueue(delay=seconds(3600))]
    reports = [*map(succeeded, batch[::2]), *map(recoverable, batch[1::2])]

    def agree(one: Any, two: Any) -> bool:
        started = claimed_by(one)
        cancelling = {it.job for it in two if it.state is State.CANCELLING and it.job in waiting}
        return not one.settled.lost and started == cancelling

    jobs = [owned.lease.job for owned in batch] + waiting
    return Collision(turns("a", ground.shuffled(reports)), cancels(ground.shuffled(jobs)), agree)


PAIRS: tuple[Pair, ...] = (
    two_claims,
    settling_and_reaping,
    cancelling_and_claiming,
    cancelling_and_settling,
    beating_and_reaping,
    beating_and_cancelling,
    two_enqueues,
    promoting_and_cancelling,
    rescheduling_and_promoting,
    rescheduling_and_giving_up,
    a_turn_and_a_bulk_cancel,
    *durable_pairs.PAIRS,
    *by_id_pairs.PAIRS,
    *limit_pairs.PAIRS,
    *mend_pairs.PAIRS,
    *prune_pairs.PAIRS,
    *schedule_pairs.PAIRS,
    *webhook_pairs.PAIRS,
)
