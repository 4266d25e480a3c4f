"""What jobs have kept of their progress, as evidence: read at the end, and finished steps during the run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct

from tenure.core.model.durable import KeptStep, OpenWait, StepStatus
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.storage.contract.store import Store

FINISHED = frozenset({StepStatus.DONE, StepStatus.SKIPPED})


class JobProgress(Struct, frozen=True, kw_only=True):
    """The steps of a job, what it waits for, the names of its signals, and of its effects in doubt."""

    job: UUID
    steps: list[KeptStep] = []
    wait: OpenWait | None = None
    signals: list[str] = []
    in_doubt: list[str] = []


class FinishedStep(NamedTuple):
    """A step that was seen finished during the run."""

    job: UUID
    step: KeptStep


async def steps_of(store: Store, job: UUID) -> list[KeptStep]:
    """All steps of a job."""
    found: list[KeptStep] = []
    while page := await store.steps(job, after=found[-1].name if found else None, limit=LARGEST_PAGE):
        found += page
        if len(page) < LARGEST_PAGE:
            break
    return found


async def finished_steps(store: Store, job: UUID) -> list[FinishedStep]:
    """The steps of a job that are finished."""
    return [FinishedStep(job, step) for step in await steps_of(store, job) if step.status in FINISHED]


async def progress_of(store: Store, job: UUID) -> JobProgress | None:
    """What a job has kept; None if it has kept nothing and waits for nothing."""
    steps = await steps_of(store, job)
    wait = (await store.open_waits([job])).get(job)
    signals = [signal.name for signal in await store.signals(job)]
    if not (steps or wait or signals):
        return None
    doubts = await store.effects_in_doubt(job=job, limit=LARGEST_PAGE)
    in_doubt = [effect.step for effect in doubts]
    return JobProgress(job=job, steps=steps, wait=wait, signals=signals, in_doubt=in_doubt)


def those_with_any(found: Iterable[JobProgress | None]) -> Sequence[JobProgress]:
    """The jobs that have kept something."""
    return [one for one in found if one is not None]
