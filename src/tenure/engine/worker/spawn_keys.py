"""Keys for the jobs that one attempt enqueues: the n-th same request has the same key in every attempt."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from uuid import UUID

from tenure.core.model.child_keys import CHILDREN, known_as
from tenure.core.model.job import NewJob
from tenure.core.values.documents import canonical_hash


class SpawnKeys:
    """Counts the requests of an attempt, and makes a key of each.

    A number is taken back when its job may not have been made. The next same request then gets the same key,
    and finds the job if it was made after all; the next attempt counts in the same way.
    """

    def __init__(self, parent: UUID) -> None:
        self._parent = f"{parent}/"
        self._counts: dict[str, int] = {}
        self._returned: dict[str, list[int]] = {}

    def named(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """The jobs, with a new key for each that is marked for one, which replaces any key it has."""
        return [known_as(job, self._next(job)) if job.scope == CHILDREN else job for job in jobs]

    def take_back(self, jobs: Iterable[NewJob]) -> None:
        """Make keys free again: it is unknown whether their jobs were made."""
        for job in jobs:
            if job.scope == CHILDREN and job.key is not None:
                name, _, number = job.key.rpartition("/")
                heappush(self._returned.setdefault(name, []), int(number))

    def _next(self, job: NewJob) -> str:
        name = f"{self._parent}{job.definition}/{canonical_hash(job.params).hex()}"
        if self._returned and (returned := self._returned.get(name)):
            return f"{name}/{heappop(returned)}"
        number = self._counts[name] = self._counts.get(name, 0) + 1
        return f"{name}/{number}"
