"""Back-pressure: how many jobs may wait before new ones are refused.

There are two bounds: on the queued jobs of one queue, and on the unfinished jobs of one namespace, except the
usual one, which belongs to no tenant. Both are approximate. Each process counts at most once a second, and
adds what it has recorded itself since. So several processes may exceed a bound by what they record in a
second, one process by what it records in one call, and a full queue stays full for up to a second after it
has room again. A known key is never refused: the caller gets its job.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from tenure.core.errors import NamespaceFull, NoRoom, QueueFull
from tenure.core.model.job import USUAL_NAMESPACE, NewJob
from tenure.core.model.states import State
from tenure.storage.contract.store import Store

FRESH = 1.0
"""Seconds for which one count serves all callers."""

MOST_NAMES = 1_000
"""How many queues, or namespaces, are remembered: callers choose the names of queues."""


class Placed(Protocol):
    """A job or a new job, by the queue and the namespace where it counts."""

    @property
    def queue(self) -> str: ...

    @property
    def namespace(self) -> str: ...


class Quota:
    """Checks whether queues and namespaces have room for more."""

    def __init__(self, store: Store, of_queue: int, of_namespace: int = 0) -> None:
        """How many jobs may stand in one queue, and be unfinished in one namespace; 0 means no bound."""
        self._store = store
        self._queues = _Bound(of_queue, store.depth)
        self._namespaces = _Bound(of_namespace, lambda name: store.unfinished(name, most=of_namespace))
        self.is_set = bool(of_queue or of_namespace)

    def room(self) -> "Room":
        """Room for jobs that are decided about one by one and recorded together."""
        return Room(self)

    async def admit(self, jobs: Sequence[NewJob]) -> None:
        """Raise NoRoom if one of the jobs is new and there is no room for it."""
        if not self.is_set:
            return
        places = {(job.queue, job.namespace): job for job in jobs}
        full = {place: why for place, job in places.items() if (why := await self.refusal([job]))}
        late = [job for job in jobs if (job.queue, job.namespace) in full]
        keys = {(job.namespace, job.scope, job.key) for job in late if job.key is not None}
        known = await self._store.known_keys(keys) if keys else set()
        for job in late:
            if (job.namespace, job.scope, job.key) not in known:
                raise full[job.queue, job.namespace]

    async def refusal(self, jobs: Iterable[Placed], promised: "Room | None" = None) -> NoRoom | None:
        """Why there is no room for more jobs like these beside those promised; None if there is room."""
        if self.is_set:
            for queue, namespace in {(job.queue, job.namespace) for job in jobs}:
                in_queue, in_namespace = promised.given(queue, namespace) if promised else (0, 0)
                if await self._queues.is_full(queue, in_queue):
                    return QueueFull(queue)
                if namespace != USUAL_NAMESPACE and await self._namespaces.is_full(namespace, in_namespace):
                    return NamespaceFull(namespace)
        return None

    def count(self, made: Iterable[tuple[Placed, State]]) -> None:
        """Add jobs that were made, each with its state, to the counts."""
        if self.is_set:
            for job, state in made:
                self._namespaces.add(job.namespace)
                if state is State.QUEUED:
                    self._queues.add(job.queue)


class Room:
    """What jobs that are recorded together may take: each that is admitted counts for those after it."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._queues = Counter[str]()
        self._namespaces = Counter[str]()

    async def admit(self, job: Placed) -> None:
        """Promise room to a job that has no key. Raises NoRoom."""
        if refusal := await self._quota.refusal([job], self):
            raise refusal
        self._queues[job.queue] += 1
        self._namespaces[job.namespace] += 1

    def given(self, queue: str, namespace: str) -> tuple[int, int]:
        """How many jobs of the queue, and of the namespace, have room already."""
        return self._queues[queue], self._namespaces[namespace]


@dataclass
class _Held:
    """How many jobs a name had at a time, plus those recorded here since."""

    jobs: int
    at: float

    @property
    def is_fresh(self) -> bool:
        return monotonic() - self.at <= FRESH


class _Bound:
    """How many jobs each name may have, and how many it has."""

    def __init__(self, most: int, look: Callable[[str], Awaitable[int]]) -> None:
        self._most = most
        self._look = look
        self._held: dict[str, _Held] = {}
        self._looking = asyncio.Lock()

    async def is_full(self, name: str, promised: int = 0) -> bool:
        return bool(self._most) and (await self._find(name)).jobs + promised >= self._most

    def add(self, name: str) -> None:
        if held := self._held.get(name):
            held.jobs += 1

    async def _find(self, name: str) -> _Held:
        if (held := self._held.get(name)) and held.is_fresh:
            return held
        async with self._looking:  # one of many callers counts for all
            if not ((held := self._held.get(name)) and held.is_fresh):
                at = monotonic()
                held = _Held(await self._look(name), at)
                if len(self._held) >= MOST_NAMES:
                    self._held.clear()
                self._held[name] = held
            return held
