"""Jobs that the database refuses to move: why, and how they go on."""

from uuid import UUID

from tenure.core.aside import Aside, Asides
from tenure.core.errors import DataRefused, JobIsAside, JobNotFound
from tenure.core.job import Job, Standing
from tenure.storage.contract import Store


class Mending:
    """Looks at jobs that were put aside, and puts them back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def put_back(self, job: UUID) -> Standing:
        """Let a job that was put aside go on; one that was not stays. Raises JobNotFound.

        Raises JobIsAside when the database still refuses to move it.
        """
        try:
            standing = await self._store.put_back(job)
        except DataRefused as refused:
            raise JobIsAside(job, str(refused)) from refused
        if standing is None:
            raise JobNotFound(job)
        return standing

    async def look(self, *, namespace: str | None = None, limit: int = 50) -> Asides:
        """Jobs that were put aside, the latest first."""
        return await self._store.asides(namespace=namespace, limit=limit)

    async def find(self, job: Job) -> Aside | None:
        """Why a job is aside, if it is."""
        return await self._found(job.id) if job.aside_at is not None else None

    async def refuse(self, job: UUID) -> JobIsAside:
        """What to raise when something was asked of a job that is aside."""
        aside = await self._found(job)
        return JobIsAside(job, "" if aside is None else aside.why)

    async def _found(self, job: UUID) -> Aside | None:
        found = await self._store.asides(jobs=[job])
        return found.jobs[0] if found.jobs else None
