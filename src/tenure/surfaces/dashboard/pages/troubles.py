"""What needs attention, the worst first, each with a link to act on it."""

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote

from msgspec import Struct

from tenure.core.model.states import State
from tenure.engine.client.attention import Attention
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address

_QUEUED = (State.QUEUED,)


class TroubleItem(Struct, frozen=True):
    """A trouble: how bad it is, what it is, what to do about it, and where."""

    tone: str
    text: str
    remedy: str
    href: str
    since: datetime | None = None


def troubles(attention: Attention) -> list[TroubleItem]:
    """All troubles."""
    kinds = (_aside, _unserved, _dead, _silent, _paused, _struggling)
    return [trouble for kind in kinds for trouble in kind(attention)]


def _aside(attention: Attention) -> Iterator[TroubleItem]:
    for job in attention.aside:
        yield TroubleItem(
            "bad",
            f"A job of {job.line.definition} is aside: the database refuses to {job.verb} it",
            "See why, mend its rows, then put it back.",
            job_address(job.job),
            job.since,
        )
    if more := attention.aside_in_all - len(attention.aside):
        yield TroubleItem("bad", f"{more:,} more jobs are aside", "See all jobs.", "/ui/jobs")


def _unserved(attention: Attention) -> Iterator[TroubleItem]:
    for line in attention.unserved:
        name = f"{line.line.definition}@{line.line.version}"
        yield TroubleItem(
            "bad",
            f"No worker runs {name} in queue {line.line.queue}: {_wait(line.jobs)}",
            "Start a worker that has this version, or cancel the jobs.",
            list_address(q=f"definition:{line.line.definition} queue:{line.line.queue}", status=_QUEUED),
            line.oldest,
        )
    if more := attention.unserved_in_all - len(attention.unserved):
        yield TroubleItem("bad", f"{more:,} more lines that no worker runs", "See all queues.", "/ui/queues")


def _dead(attention: Attention) -> Iterator[TroubleItem]:
    if attention.dead.n:
        noun = "dead letter" if str(attention.dead) == "1" else "dead letters"
        text = f"{attention.dead} {noun} in the last hour"
        yield TroubleItem("bad", text, "See why, fix the cause, then replay them.", "/ui/dead-letters")
    if attention.overdue:
        text = f"{_jobs(attention.overdue)} of lost workers, not taken back yet"
        remedy = "Any worker, or `tenure serve`, takes them back; check that one runs."
        yield TroubleItem("bad", text, remedy, list_address(status=[State.RUNNING, State.CANCELLING]))


def _silent(attention: Attention) -> Iterator[TroubleItem]:
    for known in attention.silent:
        text = f"Worker {known.worker.id} is not heard from"
        remedy = f"Check process {known.worker.pid} on {known.worker.host}; other workers take its jobs."
        yield TroubleItem("warn", text, remedy, "/ui/workers", known.seen_at)
    if more := attention.silent_in_all - len(attention.silent):
        yield TroubleItem("warn", f"{more:,} more workers not heard from", "See all workers.", "/ui/workers")


def _paused(attention: Attention) -> Iterator[TroubleItem]:
    for queue in attention.paused:
        why = f" ({queue.pause.reason})" if queue.pause.reason else ""
        scope = queue.pause.scope
        paused, href = f"Queue {queue.queue}", "/ui/queues"
        if scope.definition:
            paused, href = str(scope), f"/ui/definitions/{quote(scope.definition, safe='')}"
        text = f"{paused} is paused by {queue.pause.by}{why}, and {_wait(queue.jobs)}"
        yield TroubleItem("warn", text, "Resume it when the reason is gone.", href, queue.pause.at)
    if more := attention.paused_in_all - len(attention.paused):
        yield TroubleItem("warn", f"{more:,} more pauses with jobs waiting", "See all queues.", "/ui/queues")


def _struggling(attention: Attention) -> Iterator[TroubleItem]:
    for job in attention.struggling:
        text = f"A job of {job.line.definition} has failed in {job.failures} of {job.max_attempts} attempts"
        remedy = "Look at its error before it becomes a dead letter."
        yield TroubleItem("warn", text, remedy, job_address(job.job), job.due_at)


def _wait(count: int) -> str:
    return f"{_jobs(count)} {'waits' if count == 1 else 'wait'}"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"
