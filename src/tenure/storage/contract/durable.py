"""Progress that survives an attempt: steps, checkpoints, waits, signals; part of the storage contract.

What a worker writes counts only while the lease that it names holds: the job is owned under exactly that
fence by a lease of this worker that has not run out. None of these verbs prolongs a lease or moves the job,
but for `suspend`, `signal` and `answer`, which lock the job first and look in a second statement: whoever
comes second sees what the first has written.
"""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from tenure.core.model.durable import (
    Answered,
    DoubtfulEffect,
    EffectAnswer,
    Forgotten,
    Keeping,
    KeptStep,
    OpenWait,
    Recollection,
    Signal,
    Signalled,
    Standings,
    StepDraft,
    Suspension,
)
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document


class DurableStore(Protocol):
    """The verbs about progress: what workers do for their handlers, what callers do, then what is read."""

    async def recall(self, worker: str, lease: Lease) -> Recollection | None:
        """All that the job has kept, results up to 4 KiB each and 2 MiB together; None if it is not held."""

    async def recall_step(
        self, worker: str, lease: Lease, name: str, *, is_decided: bool = False
    ) -> KeptStep | None:
        """One step with its whole result; None if there is none, or the lease is lost.

        With `is_decided` it first waits for transactions of the job's own handler: none that has kept the
        step already can commit afterwards.
        """

    async def recall_signal(self, worker: str, lease: Lease, name: str) -> Signal | None:
        """One signal with its whole payload; None if there is none, or the lease is lost."""

    async def keep_steps(self, worker: str, steps: Sequence[tuple[Lease, StepDraft]]) -> list[Keeping]:
        """Keep steps of several attempts in one transaction; one answer each, in their order.

        Handlers keep steps as `intended`, `done` or `skipped`. One that is `done` or `skipped` never changes.
        `intended` becomes `done` under the same fence; under a later one it becomes `intended` again, `done`
        or `skipped`, as the handler decides, and the job gets a note `custom:in_doubt`, unless it was
        `cleared` before. `waiting` becomes `done` under any later fence. Kind and `call` of a name stay.
        Keeping again what is kept, with the same fence, status and body, is `kept`. A refused step leaves the
        others alone. At most 10,000 steps with 16 MiB of results a job, else `full`; a step that is on record
        may still be finished, without a body if need be.
        """

    async def save_checkpoints(
        self, worker: str, checkpoints: Sequence[tuple[Lease, Document]]
    ) -> list[bool]:
        """Replace the checkpoints of jobs; whether each was saved, in their order. The last one stands.

        At most 256 KiB each, else InvalidInput.
        """

    async def forget_steps(
        self, worker: str, lease: Lease, prefix: str, checkpoint: Document | None = None
    ) -> Forgotten | None:
        """Remove finished steps whose names begin so, and save a checkpoint, in one write; None if lost.

        What is intended or waiting stays.
        """

    async def suspend(self, worker: str, suspensions: Sequence[Suspension]) -> Standings:
        """Suspend jobs until their waits are over, each with its attempt refunded; the rest was lost.

        The step of the wait is kept as `waiting`, with its end, in the same transaction; one that is kept
        already keeps its end, and one that is finished is over at once; an effect that is asked about stays
        as it is. `queued` at once if the signal is there already, or the effect is in doubt no more;
        `cancelled` if the job was cancelling; `failed` after 10,000 suspensions: hooks of these two are left
        to `follow_up`. The job's hand-backs start anew, and its progress stays. A wait whose time has come is
        ended by `promote`.
        """

    async def signal(self, job: UUID, signal: Signal) -> Signalled | None:
        """Tell a job something, before or while it waits for that; None if there is no such job.

        The job that waits for it is `queued`. When the call returns, the signal is durable. The first of a
        name stands. At most 1,000 signals a job, else `full`.
        """

    async def answer(self, job: UUID, answer: EffectAnswer) -> Answered | None:
        """Say whether an effect in doubt has happened, whatever the job's state; None if the job is unknown.

        It becomes `done` with the result, or `cleared`. The job that waits for it is `queued`.
        """

    async def steps(self, job: UUID, *, after: str | None = None, limit: int = 200) -> list[KeptStep]:
        """Steps of a job in the order they were first kept, behind the one named `after`; whole results."""

    async def count_steps(self, job: UUID) -> int:
        """How many steps a job has kept."""

    async def open_waits(self, jobs: Sequence[UUID]) -> dict[UUID, OpenWait]:
        """What these jobs are suspended for; jobs that wait for nothing are left out."""

    async def signals(self, job: UUID) -> list[Signal]:
        """The signals that a job was sent, the first one first."""

    async def effects_in_doubt(
        self, *, namespace: str | None = None, job: UUID | None = None, limit: int = 50
    ) -> list[DoubtfulEffect]:
        """Effects that may or may not have happened, the oldest first, whatever the state of their jobs.

        In doubt is each `intended` step whose fence is not that of the job's present lease.
        """
