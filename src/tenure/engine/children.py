"""Names what one attempt enqueues: the same words for the n-th time have the same key in every attempt."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from uuid import UUID

from tenure.core.children import CHILDREN, known_as
from tenure.core.documents import canonical_hash
from tenure.core.job import NewJob


class Children:
    """Counts what an attempt asks for, and makes keys of it.

    A number is given back when its job may not have been made. Whoever asks again then has the same key, and
    finds the job, should it have been; the next attempt counts alike.
    """

    def __init__(self, parent: UUID) -> None:
        self._parent = f"{parent}/"
        self._counts: dict[str, int] = {}
        self._returned: dict[str, list[int]] = {}

    def named(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """The jobs, those with a key that are marked for one, whatever key the attempt has sent with them."""
        return [known_as(job, self._next(job)) if job.scope == CHILDREN else job for job in jobs]

    def take_back(self, jobs: Iterable[NewJob]) -> None:
        """Of jobs that were named nobody knows whether they were made."""
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
