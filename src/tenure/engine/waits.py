"""What a suspended job waits for, and effects in doubt, in sentences with the way out."""

from collections.abc import Iterator
from datetime import datetime
from shlex import quote
from uuid import UUID

from tenure.core.model.durable import WaitKind
from tenure.core.reports.obstacles import Obstacles
from tenure.core.reports.why import Obstacle, WhyCode
from tenure.engine.phrases import duration, moment


def awaited(found: Obstacles) -> Obstacle:
    """What a suspended job waits for, whose time has not come."""
    job, wait, until = found.job, found.wait, found.job.due_at
    if wait is not None and wait.kind is WaitKind.SIGNAL and wait.signal is not None:
        end = "" if until is None else f", until {_when(until, found.now)} at most"
        return Obstacle(
            WhyCode.AWAITING_SIGNAL,
            f"It gave its slot back and waits for the signal {wait.signal}{end}. "
            f"Send it with `tenure jobs signal {job.id} {quote(wait.signal)} PAYLOAD`.",
            wait.since,
            until,
        )
    if wait is not None and wait.kind is WaitKind.ANSWER:
        return Obstacle(WhyCode.IN_DOUBT, f"It waits for an answer. {doubt(job.id, wait.step)}", wait.since)
    end = "it is told to go on" if until is None else _when(until, found.now)
    return Obstacle(WhyCode.SLEEPING, f"It gave its slot back and sleeps until {end}.", job.updated_at, until)


def doubts(found: Obstacles) -> Iterator[Obstacle]:
    """The job's effects in doubt, without the one that it waits for."""
    asked = found.wait.step if found.wait is not None and found.wait.kind is WaitKind.ANSWER else None
    for step, since in found.doubts:
        if step != asked:
            yield Obstacle(WhyCode.IN_DOUBT, doubt(found.job.id, step), since)


def doubt(job: UUID, step: str) -> str:
    """What is not known, and how to tell it."""
    answer = f"tenure jobs answer {job} {quote(step)}"
    return (
        f"Its effect {step} may or may not have happened: the attempt that began it did not come to its end. "
        f"Look, then run `{answer} --happened`, or `{answer} --did-not-happen`."
    )


def _when(until: datetime, now: datetime) -> str:
    return f"{moment(until)}, in {duration(until - now)}"
