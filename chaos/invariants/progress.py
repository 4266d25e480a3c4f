"""Progress: what waits can go on, finished steps stay, a signal counts once, a doubt is told."""

from collections.abc import Iterator

from chaos.casebook import Casebook, Finding
from chaos.kept_progress import JobProgress
from tenure.core.model.durable import OpenWait, StepStatus, WaitKind
from tenure.core.model.states import State


def i54_waits_can_end(book: Casebook) -> Iterator[Finding]:
    """I54: a suspended job has a time, or waits for something that is known and has not come yet."""
    for job, _ in book.known():
        if job.state is not State.SUSPENDED:
            continue
        progress = book.progress.get(job.id)
        if progress is None or progress.wait is None:
            if job.due_at is None:
                yield job.id, "is suspended without a time, and waits for nothing that is known"
        elif (wrong := _wrongly_waiting(progress, progress.wait)) is not None:
            yield job.id, wrong


def i55_finished_steps_stay(book: Casebook) -> Iterator[Finding]:
    """I55: a step that was seen finished is as it was, unless its handler has had it forgotten."""
    last = {(one.job, step.name): step for one in book.evidence.progress for step in one.steps}
    for job, step in book.evidence.finished_steps:
        now = last.get((job, step.name))
        if now is not None and now != step:
            yield job, f"step {step.name!r} was {step.status} under fence {step.fence}, and has changed"


def i56_signals_count_once(book: Casebook) -> Iterator[Finding]:
    """I56: callers have resumed a job no more often than it was told something, or asked about effects."""
    for one in book.evidence.progress:
        life = book.lives[one.job]
        owners = {step.actor for step in life.steps if step.type == "started"}
        told = [
            step for step in life.steps if step.type == "resumed" and step.actor not in {"clock", *owners}
        ]
        if not any(step.kind == "once" for step in one.steps) and len(told) > len(one.signals):
            yield (
                one.job,
                f"was resumed {len(told)} times by callers, and was sent {len(one.signals)} signals",
            )


def i57_doubts_are_told(book: Casebook) -> Iterator[Finding]:
    """I57: an effect that is announced, and not under way, is listed as in doubt; no other one is."""
    for one in book.evidence.progress:
        job = book.jobs.get(one.job)
        if job is None:
            continue
        lease = job.fence if job.state.is_owned else None
        doubtful = {s.name for s in one.steps if s.status is StepStatus.INTENDED and s.fence != lease}
        for name in sorted(doubtful ^ set(one.in_doubt)):
            said = "is listed" if name in one.in_doubt else "is not listed"
            yield one.job, f"effect {name!r} {said} as in doubt"


def _wrongly_waiting(progress: JobProgress, wait: OpenWait) -> str | None:
    names = {step.name for step in progress.steps}
    if wait.kind is WaitKind.SIGNAL and wait.signal in progress.signals:
        return f"waits for the signal {wait.signal!r}, which it was sent"
    if wait.kind is WaitKind.ANSWER and wait.step not in progress.in_doubt:
        return f"waits for an answer about {wait.step!r}, which is not in doubt"
    if wait.kind is not WaitKind.ANSWER and wait.step not in names:
        return f"waits under step {wait.step!r}, which is not on record"
    return None


INVARIANTS = (i54_waits_can_end, i55_finished_steps_stay, i56_signals_count_once, i57_doubts_are_told)
