"""Pairs that compete for the slots of limits: never more are held than exist, and none is lost.

After each, the records are compared with both answers. Then another worker takes the room that is left, to
the last slot and no further, and all of it is freed.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from tenure.core.model.lease import Claimed, Line
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tests.storage.races.collision import BATCH, Collision, Ground, Pair, claimed_by
from tests.storage.races.requests import claims, turns
from tests.storage.verbs import MAIL, claim, recoverable, settle, succeeded

API, DISK, NET = Limit("api", size=10), Limit("disk", size=5), Limit("net", size=4)
LINES = (MAIL, Line("default", "post"), Line("default", "text"))
Standing = Mapping[UUID, tuple[Limit, ...]]
"""Jobs, and the limits of each."""


async def in_line(ground: Ground, *groups: tuple[Limit, ...]) -> Standing:
    """A batch under each of these sets of limits, in a line of its own."""
    return {
        job: limits
        for limits, line in zip(groups, LINES, strict=False)
        for job in await ground.enqueue(line.definition, limits=limits)
    }


async def use_of(store: Store) -> Counter[str]:
    """How many jobs run under each limit, by the store."""
    return Counter({use.name: use.held for use in await store.limits()})


def counted(standing: Standing, owned: Iterable[Claimed]) -> Counter[str]:
    """How many jobs run under each limit, by the answers to their owners."""
    return Counter(limit.name for one in owned for limit in standing[one.lease.job])


async def the_rest(store: Store) -> list[Claimed]:
    """All that worker c can claim: jobs that one claim passed over, the next may take."""
    taken: list[Claimed] = []
    empty = 0
    while empty < 2:
        # Room that another process has freed is seen within a second, or at once after a forced look-up.
        await store.resume(MAIL)
        more = await claim(store, "c", BATCH, LINES)
        empty = 0 if more else empty + 1
        taken += more
    return taken


def room_is_exact(
    ground: Ground, standing: Standing, kept: Iterable[Claimed] = ()
) -> Callable[[Any, Any], Awaitable[None]]:
    """The check after two turns of a and b; `kept` is what a has from before and did not settle."""
    sizes = Counter({limit.name: limit.size for limits in standing.values() for limit in limits})
    groups = set(standing.values())

    async def check(one: Any, two: Any) -> None:
        store = ground.store
        owned = {"a": [*kept, *one.claimed], "b": list(two.claimed)}
        assert await use_of(store) == counted(standing, owned["a"] + owned["b"]) <= sizes
        owned["c"] = await the_rest(store)
        full = await use_of(store)
        assert full == counted(standing, [each for batch in owned.values() for each in batch]) <= sizes
        assert all(any(full[limit.name] == limit.size for limit in limits) for limits in groups)
        for worker, batch in owned.items():
            assert (await settle(store, map(succeeded, batch), worker)).lost == []
        assert (await use_of(store)).total() == 0
        await store.cancel(list(standing))

    return check


async def two_claims_under_one_limit(ground: Ground) -> Collision:
    """Each could fill it alone; there is room for ten of them together."""
    standing = await in_line(ground, (API,))

    def agree(one: Any, two: Any) -> bool:
        return claimed_by(one).isdisjoint(claimed_by(two)) and len(one.claimed) + len(two.claimed) <= API.size

    return Collision(claims("a", 12), claims("b", 12), agree, room_is_exact(ground, standing))


async def a_turn_and_a_claim_under_one_limit(ground: Ground) -> Collision:
    """Slots are freed while another worker claims: whichever gets them, two jobs still hold theirs."""
    standing = await in_line(ground, (API,))
    owned = ground.shuffled(await claim(ground.store, "a", 8))
    kept, ended = owned[:2], owned[2:]

    def agree(one: Any, two: Any) -> bool:
        new = len(one.claimed) + len(two.claimed)
        return not one.settled.lost and claimed_by(one).isdisjoint(claimed_by(two)) and new <= API.size - 2

    reports = [*map(succeeded, ended[::2]), *map(recoverable, ended[1::2])]
    return Collision(turns("a", reports, 12), claims("b", 12), agree, room_is_exact(ground, standing, kept))


async def two_turns_under_crossing_limits(ground: Ground) -> Collision:
    """Three limits, two to a job: each worker frees slots that the other wants, and takes new ones.

    They serve different lines, and so reach the limits in different orders: if a worker held the slots of
    one limit while it waits for those of the next, both could wait in a circle.
    """
    standing = await in_line(ground, (API, DISK), (DISK, NET), (NET, API))
    serves = {"a": LINES, "b": LINES[:2]}
    reports = {
        worker: ground.shuffled(list(map(succeeded, await claim(ground.store, worker, 3, lines))))
        for worker, lines in serves.items()
    }

    def agree(one: Any, two: Any) -> bool:
        is_lost = one.settled.lost or two.settled.lost
        return not is_lost and claimed_by(one).isdisjoint(claimed_by(two))

    calls = [turns(worker, reports[worker], 12, lines) for worker, lines in serves.items()]
    return Collision(calls[0], calls[1], agree, room_is_exact(ground, standing))


PAIRS: tuple[Pair, ...] = (
    two_claims_under_one_limit,
    a_turn_and_a_claim_under_one_limit,
    two_turns_under_crossing_limits,
)
