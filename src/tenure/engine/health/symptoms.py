"""What needs attention, in words: what is wrong, since when, and what to do. Doctor and pages share them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from shlex import quote

from tenure.core.model.aside import Aside
from tenure.core.model.durable import DoubtfulEffect
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.reports.failures import Struggling
from tenure.core.reports.health import Symptom
from tenure.core.reports.operations import WorkerStatus
from tenure.core.schedule.schedule import TroubledSchedule
from tenure.core.values.urls import masked, masked_in
from tenure.engine.health.attention import Attention, FailingQueue, PausedQueue, Unserved
from tenure.engine.health.webhook_troubles import webhook_symptom

MOST_AHEAD = timedelta(seconds=60)
"""How far a store's clock may be ahead of the machine's."""

BRIEF = timedelta(minutes=1)
"""How long a broker may be away before a person has to look."""

DEAD_LETTERS = "dead-letters"
STRUGGLING = "struggling"
IN_DOUBT = "effect-in-doubt"


def symptoms_of(attention: Attention) -> list[Symptom]:
    """All that needs attention, by kind."""
    return [
        *clock_symptoms(attention.ahead),
        *map(_silent, attention.silent),
        *_more("worker-silent", "workers", attention.silent_in_all - len(attention.silent)),
        *map(_unready, attention.unready),
        *(_failing(queue, attention.at) for queue in attention.queues),
        *map(_unserved, attention.unserved),
        *_more("unserved", "lines", attention.unserved_in_all - len(attention.unserved)),
        *map(_paused, attention.paused),
        *_more("paused", "pauses", attention.paused_in_all - len(attention.paused)),
        *map(_aside, attention.aside),
        *_more("aside", "jobs", attention.aside_in_all - len(attention.aside)),
        *map(_doubt, attention.doubts),
        *_more_doubts(attention),
        *map(_schedule, attention.schedules),
        *map(webhook_symptom, attention.webhooks),
        *_overdue(attention),
        *_dead(attention),
        *map(_struggling, attention.struggling),
    ]


def clock_symptoms(ahead: timedelta) -> Iterator[Symptom]:
    """What is wrong with a store's clock that is so much ahead of the machine's."""
    if ahead > MOST_AHEAD:
        yield Symptom(
            kind="clock-ahead",
            what=f"the store's clock is {ahead.total_seconds():,.0f} s ahead of this machine's: in a file it "
            "stands still until the machine has caught up, and so do leases, delays and retries",
            cure="set the clocks of this machine and of the database's server right, by NTP; with a file, "
            "then stop all workers and servers and run `tenure migrate --reset-clock`",
        )


def _silent(worker: WorkerStatus) -> Symptom:
    return Symptom(
        kind="worker-silent",
        what=f"worker {worker.worker.id} on {worker.worker.host} (pid {worker.worker.pid}) sends no "
        "heartbeats: it is dead, frozen or cut off",
        since=worker.seen_at,
        cure="look at its log and start it again; it is forgotten after a day of silence",
    )


def _unready(worker: WorkerStatus) -> Symptom:
    return Symptom(
        kind="worker-unready",
        what=f"worker {worker.worker.id} on {worker.worker.host} (pid {worker.worker.pid}) is alive and "
        "cannot run jobs",
        cure="its log says why: it is about to end, the database refuses it, or its app cannot be imported",
    )


def _failing(queue: FailingQueue, now: datetime) -> Symptom:
    whose = f"{queue.failing} of {queue.workers} workers" if queue.workers > 1 else "the worker"
    return Symptom(
        kind="messages-away",
        what=f"{whose} on the message queue {masked(queue.name)} cannot receive from it, and goes on by "
        f"sweeps alone: {masked_in(queue.problem)}",
        since=queue.since,
        cure="is the queue there, are TENURE_SQS_QUEUE_URL, region and credentials right, and do these "
        "allow sqs:ReceiveMessage? Jobs are run meanwhile, and nothing is lost; this ends by itself when "
        "messages come again",
        needs_person=now - queue.since > BRIEF,
    )


def _unserved(line: Unserved) -> Symptom:
    definition = f"{line.line.definition}@{line.line.version}"
    return Symptom(
        kind="unserved",
        what=f"nobody runs {definition}: {_jobs(line.jobs)} in queue {line.line.queue}",
        since=line.oldest,
        definition=line.line.definition,
        queue=line.line.queue,
        cure=f"start a worker whose app has {definition} and which serves this queue: `tenure worker APP`",
    )


def _paused(held: PausedQueue) -> Symptom:
    until = "until it is resumed" if held.pause.until is None else f"until {held.pause.until:%Y-%m-%d %H:%MZ}"
    reason = f": {held.pause.reason}" if held.pause.reason else ""
    scope = held.pause.scope
    options = f" --version {scope.version}" * bool(scope.version) + f" --queue {scope.queue}" * bool(
        scope.queue
    )
    command = (
        f"definitions resume {scope.definition}{options}"
        if scope.definition
        else f"queues resume {scope.queue}"
    )
    return Symptom(
        kind="paused",
        what=f"{_jobs(held.jobs)} under the pause of {scope} by {held.pause.by}, {until}{reason}",
        since=held.pause.at,
        definition=scope.definition or None,
        queue=scope.queue or None,
        cure=f"when the reason is gone: `tenure {command}`",
        needs_person=held.pause.until is None,
    )


def _aside(job: Aside) -> Symptom:
    return Symptom(
        kind="aside",
        what=f"job {job.job} is aside, because the database refused to move it ({job.verb}): {job.why}",
        since=job.since,
        job=job.job,
        cure=f"mend its rows, then `tenure jobs put-back {job.job}`",
    )


def _doubt(effect: DoubtfulEffect) -> Symptom:
    answer = f"tenure jobs answer {effect.job} {quote(effect.step)}"
    return Symptom(
        kind=IN_DOUBT,
        what=f"the effect {effect.step} of job {effect.job} of {effect.definition}, which is {effect.state}, "
        "may or may not have happened",
        since=effect.since,
        job=effect.job,
        definition=effect.definition,
        cure=f"look whether it has happened, then `{answer} --happened`, or `{answer} --did-not-happen`",
    )


def _more_doubts(attention: Attention) -> Iterator[Symptom]:
    if attention.has_more_doubts:
        yield Symptom(kind=IN_DOUBT, what="and further effects of other jobs are in doubt", cure="the same")


def _overdue(attention: Attention) -> Iterator[Symptom]:
    if attention.overdue:
        whose = "a live worker takes them back" if attention.alive else "no live worker takes them back"
        yield Symptom(
            kind="overdue",
            what=f"the leases of {attention.overdue} jobs have run out, and {whose}",
            cure="wait some seconds"
            if attention.alive
            else "start a worker, `tenure api` or `tenure serve`: each of them does so",
            needs_person=not attention.alive,
        )


def _schedule(troubled: TroubledSchedule) -> Symptom:
    namespace, name = troubled.name
    written = name if namespace == USUAL_NAMESPACE else f"{namespace}/{name}"
    if troubled.due_at is not None:
        return Symptom(
            kind="schedule-idle",
            what=f"the schedule {written} is due, and nothing fires it",
            since=troubled.due_at,
            definition=troubled.definition,
            cure="start a worker, `tenure serve` or `tenure scheduler`; if one runs, its log says why",
        )
    if troubled.is_forgotten:
        return Symptom(
            kind="schedule-forgotten",
            what=f"the schedule {written} is from code that no live worker has any more; it still fires",
            definition=troubled.definition,
            cure=f"if it is no longer wanted, `tenure schedules delete {written}`; else start its worker",
            needs_person=False,
        )
    return Symptom(
        kind="schedule-failed",
        what=f"the last tick of the schedule {written} made no job: {troubled.problem or 'no room'}",
        since=troubled.failed_at,
        definition=troubled.definition,
        cure=f"mend what it says, then `tenure schedules trigger {written}`; it is told until a tick fires",
    )


def _dead(attention: Attention) -> Iterator[Symptom]:
    if attention.dead.n:
        noun = "dead letter" if str(attention.dead) == "1" else "dead letters"
        yield Symptom(
            kind=DEAD_LETTERS,
            what=f"{attention.dead} {noun} in the last hour",
            cure="see why, fix the cause, then replay them: `tenure jobs list --state failed`",
            needs_person=False,
        )


def _struggling(job: Struggling) -> Symptom:
    return Symptom(
        kind=STRUGGLING,
        what=f"job {job.job} of {job.line.definition} has failed in {job.failures} of its "
        f"{job.max_attempts} attempts",
        cure=f"look at its error before it becomes a dead letter: `tenure jobs show {job.job}`",
        job=job.job,
        definition=job.line.definition,
        needs_person=False,
    )


def _more(kind: str, things: str, count: int) -> Iterator[Symptom]:
    if count > 0:
        yield Symptom(kind=kind, what=f"and {count} {things} more", cure="the same")


def _jobs(count: int) -> str:
    return "1 job waits" if count == 1 else f"{count:,} jobs wait"
