"""Jobs that the database refuses to move: why, and how to put them back."""

from uuid import UUID

from tenure.core.errors import DataRefused, JobIsAside, JobNotFound
from tenure.core.model.aside import Aside, AsidePage
from tenure.core.model.job import Job, JobStanding
from tenure.storage.contract.store import Store


class AsideJobs:
    """Reads jobs that were put aside, and puts them back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def put_back(self, job: UUID) -> JobStanding:
        """Let a job that was put aside go on; any other stays as it is. Raises JobNotFound.

        Raises JobIsAside if the database still refuses to move it.
        """
        try:
            standing = await self._store.put_back(job)
        except DataRefused as refused:
            raise JobIsAside(job, str(refused)) from refused
        if standing is None:
            raise JobNotFound(job)
        return standing

    async def look(self, *, namespace: str | None = None, limit: int = 50) -> AsidePage:
        """Jobs that were put aside, the latest first."""
        return await self._store.asides(namespace=namespace, limit=limit)

    async def find(self, job: Job) -> Aside | None:
        """Why a job is aside, if it is."""
        return await self._found(job.id) if job.aside_at is not None else None

    async def refuse(self, job: UUID) -> JobIsAside:
        """The error to raise for a request about a job that is aside."""
        aside = await self._found(job)
        return JobIsAside(job, "" if aside is None else aside.why)

    async def _found(self, job: UUID) -> Aside | None:
        found = await self._store.asides(jobs=[job])
        return found.jobs[0] if found.jobs else None
