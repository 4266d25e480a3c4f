"""Progress: what waits can go on, finished steps stay, a signal counts once, a doubt is told."""

from collections import Counter
from collections.abc import Iterator

from chaos.casebook import Casebook, Finding
from chaos.kept_progress import JobProgress
from tenure.core.model.durable import OpenWait, StepKind, StepStatus, WaitKind
from tenure.core.model.states import State
from tenure.core.values.documents import NULL, read
from tenure.storage.mapping.durable import IN_DOUBT


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


def i62_steps_run_to_their_record(book: Casebook) -> Iterator[Finding]:
    """I62: a step that is on record as done ran under that fence, and under no later one."""
    ran = book.deeds
    for one in book.evidence.progress:
        for step in one.steps:
            fences = ran.get((one.job, step.name), [])
            if (
                not fences
                or step.status is not StepStatus.DONE
                or step.kind not in (StepKind.STEP, StepKind.ONCE)
            ):
                continue
            if max(fences) > step.fence:
                yield (
                    one.job,
                    f"step {step.name!r} ran under fence {max(fences)}, after it was kept under {step.fence}",
                )
            elif step.fence not in fences:
                yield one.job, f"step {step.name!r} was kept under fence {step.fence}, and never ran under it"


def i63_effects_are_not_repeated_unsaid(book: Casebook) -> Iterator[Finding]:
    """I63: an effect that was announced ran once, and once more for each time that it is told as in doubt."""
    for one in book.evidence.progress:
        told = Counter(
            read(event.payload or NULL).get("step")
            for event in book.lives[one.job].events
            if event.type == IN_DOUBT
        )
        for step in one.steps:
            ran = len(book.deeds.get((one.job, step.name), []))
            if step.kind is StepKind.ONCE and ran > 1 + told[step.name]:
                yield (
                    one.job,
                    f"effect {step.name!r} ran {ran} times, and was told as in doubt {told[step.name]} times",
                )


def i64_charges_are_as_many_as_steps(book: Casebook) -> Iterator[Finding]:
    """I64: what transactions of handlers wrote is there as often as their steps, under the same fences."""
    written = Counter((one.job, one.step, one.fence) for one in book.evidence.charges)
    kept = Counter(
        (one.job, step.name, step.fence)
        for one in book.evidence.progress
        for step in one.steps
        if step.kind is StepKind.TRANSACTION
    )
    for charge in sorted(written.keys() | kept.keys()):
        if written[charge] != kept[charge]:
            job, step, fence = charge
            yield (
                job,
                f"{step!r} under fence {fence} is kept {kept[charge]} times, written {written[charge]} times",
            )


def i65_signals_stay(book: Casebook) -> Iterator[Finding]:
    """I65: a signal that was acknowledged is on record."""
    for call in book.evidence.history:
        if call.verb == "signal" and call.outcome == "acknowledged":
            for job in call.moved:
                progress = book.progress.get(job)
                if job in book.jobs and (progress is None or not progress.signals):
                    yield job, f"signal number {call.number} was acknowledged, and is not on record"


def _wrongly_waiting(progress: JobProgress, wait: OpenWait) -> str | None:
    names = {step.name for step in progress.steps}
    if wait.kind is WaitKind.SIGNAL and wait.signal in progress.signals:
        return f"waits for the signal {wait.signal!r}, which it was sent"
    if wait.kind is WaitKind.ANSWER and wait.step not in progress.in_doubt:
        return f"waits for an answer about {wait.step!r}, which is not in doubt"
    if wait.kind is not WaitKind.ANSWER and wait.step not in names:
        return f"waits under step {wait.step!r}, which is not on record"
    return None


INVARIANTS = (
    i54_waits_can_end,
    i55_finished_steps_stay,
    i56_signals_count_once,
    i57_doubts_are_told,
    i62_steps_run_to_their_record,
    i63_effects_are_not_repeated_unsaid,
    i64_charges_are_as_many_as_steps,
    i65_signals_stay,
)
