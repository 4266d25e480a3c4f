"""Where a collision is prepared, and what it consists of."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from random import Random
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed
from tenure.core.model.policy import Policy
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.races.requests import StoreCall
from tests.storage.verbs import claim, seconds, settle, succeeded

T = TypeVar("T")
BATCH = 20
ONCE = Policy(max_attempts=1)


async def nothing_more(_one: Any, _two: Any) -> None:
    """No check but that of the answers."""


class Collision(NamedTuple):
    """Two calls made at once by two processes, and what must be true whichever was first.

    `agree` compares the answers. `afterwards` gets them too, checks the store, which is idle by then, and may
    remove what the next round does not need. `excused` are errors that count as answers.
    """

    one: StoreCall
    two: StoreCall
    agree: Callable[[Any, Any], bool]
    afterwards: Callable[[Any, Any], Awaitable[None]] = nothing_more
    excused: tuple[type[StoreError], ...] = ()


class Ground(NamedTuple):
    """Where jobs are prepared for a collision."""

    store: Store
    clock: Clock
    chance: Random
    backend: Backend

    async def enqueue(self, definition: str = "mail", **fields: Any) -> list[UUID]:
        made = await self.store.enqueue([NewJob(definition=definition, **fields) for _ in range(BATCH)])
        return [one.id for one in made]

    async def owned(self, **fields: Any) -> list[Claimed]:
        """A batch that worker a has claimed for half a minute, in two claims."""
        await self.enqueue(**fields)
        halves = [await claim(self.store, "a", BATCH // 2, lease_for=seconds(30)) for _ in range(2)]
        assert [len(half) for half in halves] == [BATCH // 2] * 2
        return [one for half in halves for one in half]

    async def finished(self, **fields: Any) -> list[UUID]:
        """A batch; one half has succeeded, the other was cancelled."""
        jobs = await self.enqueue(**fields)
        await settle(self.store, map(succeeded, await claim(self.store, limit=BATCH // 2)))
        assert sum(one.moved for one in await self.store.cancel(jobs)) == BATCH // 2
        return jobs

    def shuffled(self, things: Sequence[T]) -> list[T]:
        return self.chance.sample(things, len(things))

    def later(self, by: float) -> datetime:
        """A later time, for a call to set: calls that began before do not see it."""
        self.clock.now += seconds(by)
        return self.clock.now


Pair = Callable[[Ground], Awaitable[Collision]]


def jobs_of(answer: Iterable[Any]) -> set[UUID]:
    """The jobs of steps, standings or leases."""
    return {one.job for one in answer}


def claimed_by(turn: Any) -> set[UUID]:
    """The jobs that a turn has claimed."""
    return jobs_of(one.lease for one in turn.claimed)
