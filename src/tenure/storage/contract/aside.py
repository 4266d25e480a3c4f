"""The verbs of a store about jobs that were put aside; part of the storage contract."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from tenure.core.model.aside import Aside, AsidePage
from tenure.core.model.job import JobStanding
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import Report


class AsideStore(Protocol):
    """The verbs about jobs that the database refuses to move."""

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        """Put aside the jobs of lost attempts whose lease row is gone though they still own the job.

        Nothing could ever settle or reap such a job. Attempts that were lost in any other way are left alone.
        """

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> AsidePage:
        """Jobs that were put aside, the latest first; at most 200, counted up to a thousand."""

    async def put_back(self, job: UUID) -> JobStanding | None:
        """Let a job that was put aside continue, once its rows are mended; None if there is no such job.

        If its attempt was under way, the job is settled by the kept report, which came in time; without one,
        it is taken from its owner as `reap` does. Other jobs go back to their place in line, or to their
        timer. A job that is owned under a lease whose row is gone counts as aside; nothing else is moved.
        DataRefused if it still cannot be moved: then it stays where it is.
        """
