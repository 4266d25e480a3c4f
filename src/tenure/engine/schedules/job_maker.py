"""The job of a tick: made from the schedule and its definition, and validated as any other job."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from tenure.core.model.job import NewJob
from tenure.core.model.loss import with_on_lost
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.schedule.jitter import jitter_of
from tenure.core.schedule.schedule import NewSchedule
from tenure.core.values.documents import Document


class DefinitionLookup(Protocol):
    """Finds definitions, and validates jobs by them."""

    async def spec(self, key: str, version: int | None = None) -> Spec:
        """The definition; without a version the newest one. Raises UnknownDefinition."""

    async def validate(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """The jobs with operators' overrides applied. Raises InvalidInput if one does not fit."""


class JobRoom(Protocol):
    """Room for jobs that are recorded together."""

    async def admit(self, job: NewJob, /) -> None:
        """Promise room to a job. Raises NoRoom."""


class Bounds(Protocol):
    """Says how many jobs there may be."""

    def room(self) -> JobRoom:
        """Room for jobs that are decided about one by one and recorded together."""

    def count(self, made: Iterable[tuple[NewJob, State]], /) -> None:
        """Add jobs that were made, each with its state."""


class JobMaker:
    """Makes the jobs of schedules, as far as there is room for them."""

    def __init__(self, definitions: DefinitionLookup, quota: Bounds) -> None:
        self._definitions = definitions
        self.quota = quota

    async def make(
        self,
        asked: NewSchedule,
        tick: datetime | None = None,
        following: datetime | None = None,
        *,
        params: Document | None = None,
        room: JobRoom | None = None,
    ) -> NewJob:
        """The job of a tick, or of a run by hand, for which there is room.

        With jitter the job waits, but starts before the `following` tick. Raises InvalidInput if it does not
        fit its definition, or that is gone, and NoRoom.
        """
        new = await self.valid_job(asked, params)
        if tick is not None and asked.jitter:
            new = replace(new, run_at=tick + jitter_of(asked.id, tick, asked.jitter, following))
        await (room or self.quota.room()).admit(new)
        return new

    async def valid_job(self, asked: NewSchedule, params: Document | None = None) -> NewJob:
        """The job that a schedule makes. Raises InvalidInput if it does not fit its definition."""
        job = asked.job
        spec = await self._definitions.spec(job.definition, job.version)
        new = spec.new_job(
            job.params if params is None else params,
            queue=job.queue,
            priority=job.priority,
            max_attempts=job.max_attempts,
            timeout=job.timeout,
            tags=job.tags,
            namespace=asked.namespace,
            creator=f"schedule:{asked.id}",
        )
        if job.on_lost is not None:
            new = with_on_lost(new, spec, job.on_lost, job.max_attempts)
        if asked.limit is not None:
            new = replace(new, limits=(*new.limits, asked.limit))
        [valid] = await self._definitions.validate([new])
        return valid
