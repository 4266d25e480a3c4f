"""The progress of jobs as callers see it: steps, signals sent from outside, and effects in doubt."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from tenure.core.errors import JobNotFound
from tenure.core.model.durable import (
    Answered,
    Delivered,
    DoubtfulEffect,
    EffectAnswer,
    KeptStep,
    OpenWait,
    ProgressSummary,
    Signal,
    Signalled,
    Verdict,
)
from tenure.core.model.job import Job
from tenure.core.model.signal_errors import JobEnded, NotInDoubt, SignalDiffers, TooManySignals
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.storage.contract.store import Store


class DurableJobs:
    """Reads what jobs have kept, sends them signals, and answers about their effects."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def signal(self, job: UUID, signal: Signal) -> Signalled:
        """Tell a job something, before or while it waits for that; the same signal again changes nothing.

        Raises JobNotFound, JobEnded, SignalDiffers or TooManySignals.
        """
        told = await self._store.signal(job, signal)
        if told is None:
            raise JobNotFound(job)
        match told.delivered:
            case Delivered.FINISHED:
                raise JobEnded(job, told.state)
            case Delivered.DIFFERS:
                raise SignalDiffers(job, signal.name, told.state)
            case Delivered.FULL:
                raise TooManySignals(job, told.state)
        return told

    async def answer(self, job: UUID, answer: EffectAnswer) -> Answered:
        """Say whether an effect in doubt has happened, whatever the job's state; again, it changes nothing.

        Raises JobNotFound or NotInDoubt.
        """
        answered = await self._store.answer(job, answer)
        if answered is None:
            raise JobNotFound(job)
        if answered.verdict is Verdict.NOT_IN_DOUBT:
            raise NotInDoubt(job, answer.step, answered.state)
        return answered

    async def steps(
        self, job: UUID, *, after: str | None = None, limit: int = LARGEST_PAGE
    ) -> list[KeptStep]:
        """Steps of a job in the order they were first kept, behind the one named `after`.

        Raises JobNotFound.
        """
        found = await self._store.steps(job, after=after, limit=limit)
        if not found and await self._store.get(job) is None:
            raise JobNotFound(job)
        return found

    async def all_steps(self, job: UUID) -> list[KeptStep]:
        """Every step of a job. Raises JobNotFound."""
        found = part = await self.steps(job)
        while len(part) == LARGEST_PAGE:
            part = await self._store.steps(job, after=found[-1].name, limit=LARGEST_PAGE)
            found += part
        return found

    async def kept(self, job: Job) -> ProgressSummary:
        """A job's progress at a glance."""
        waits = await self._store.open_waits([job.id]) if job.state is State.SUSPENDED else {}
        return ProgressSummary(
            steps=await self._store.count_steps(job.id),
            wait=waits.get(job.id),
            in_doubt=await self._store.effects_in_doubt(job=job.id),
        )

    async def waits(self, jobs: Sequence[UUID]) -> Mapping[UUID, OpenWait]:
        """What suspended jobs wait for."""
        return await self._store.open_waits(jobs) if jobs else {}

    async def in_doubt(
        self, *, namespace: str | None = None, limit: int = LARGEST_PAGE
    ) -> Sequence[DoubtfulEffect]:
        """Effects that may or may not have happened, the oldest first."""
        return await self._store.effects_in_doubt(namespace=namespace, limit=limit)
