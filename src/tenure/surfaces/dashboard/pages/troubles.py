"""What needs somebody's attention, the worst first, each with where to go about it."""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from tenure.core.states import State
from tenure.engine.attention import Attention
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address

_QUEUED = (State.QUEUED,)


class Trouble(Struct, frozen=True):
    """Something amiss: how bad it is, what it is, what can be done, and where."""

    tone: str
    text: str
    remedy: str
    href: str
    since: datetime | None = None


def troubles(attention: Attention) -> list[Trouble]:
    """All that is amiss."""
    kinds = (_aside, _unserved, _dead, _silent, _paused, _struggling)
    return [trouble for kind in kinds for trouble in kind(attention)]


def _aside(attention: Attention) -> Iterator[Trouble]:
    for job in attention.aside:
        yield Trouble(
            "bad",
            f"A job of {job.line.definition} is aside: the database refuses to {job.verb} it",
            "See why, mend its rows, and put it back.",
            job_address(job.job),
            job.since,
        )
    if more := attention.aside_in_all - len(attention.aside):
        yield Trouble("bad", f"{more:,} more jobs that are aside", "See all jobs.", "/ui/jobs")


def _unserved(attention: Attention) -> Iterator[Trouble]:
    for line in attention.unserved:
        name = f"{line.line.definition}@{line.line.version}"
        yield Trouble(
            "bad",
            f"Nobody serves {name} in queue {line.line.queue}: {_wait(line.jobs)}",
            "Start a worker that knows this version, or cancel them.",
            list_address(q=f"definition:{line.line.definition} queue:{line.line.queue}", status=_QUEUED),
            line.oldest,
        )
    if more := attention.unserved_in_all - len(attention.unserved):
        yield Trouble("bad", f"{more:,} more lines that nobody serves", "See every queue.", "/ui/queues")


def _dead(attention: Attention) -> Iterator[Trouble]:
    if attention.dead.n:
        noun = "dead letter" if str(attention.dead) == "1" else "dead letters"
        text = f"{attention.dead} {noun} in the last hour"
        yield Trouble("bad", text, "See what they died of, mend it, and replay them.", "/ui/dead-letters")
    if attention.overdue:
        text = f"{_jobs(attention.overdue)} whose worker was lost, not yet taken back"
        remedy = "A worker or scheduler takes them back; see that one runs."
        yield Trouble("bad", text, remedy, list_address(status=[State.RUNNING, State.CANCELLING]))


def _silent(attention: Attention) -> Iterator[Trouble]:
    for known in attention.silent:
        text = f"Worker {known.worker.id} has not been heard of"
        remedy = f"Look at process {known.worker.pid} on {known.worker.host}; its jobs go to others."
        yield Trouble("warn", text, remedy, "/ui/workers", known.seen_at)
    if more := attention.silent_in_all - len(attention.silent):
        yield Trouble("warn", f"{more:,} more workers not heard of", "See all of them.", "/ui/workers")


def _paused(attention: Attention) -> Iterator[Trouble]:
    for queue in attention.paused:
        why = f" ({queue.pause.reason})" if queue.pause.reason else ""
        text = f"Queue {queue.queue} is paused by {queue.pause.by}{why}, and {_wait(queue.jobs)}"
        yield Trouble("warn", text, "Resume it when its time has come.", "/ui/queues", queue.pause.at)
    if more := attention.paused_in_all - len(attention.paused):
        yield Trouble("warn", f"{more:,} more paused queues", "See every queue.", "/ui/queues")


def _struggling(attention: Attention) -> Iterator[Trouble]:
    for job in attention.struggling:
        text = f"A job of {job.line.definition} has failed {job.failures} of {job.max_attempts} times"
        remedy = "Look at its error before it is a dead letter."
        yield Trouble("warn", text, remedy, job_address(job.job), job.due_at)


def _wait(count: int) -> str:
    return f"{_jobs(count)} {'waits' if count == 1 else 'wait'}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"
