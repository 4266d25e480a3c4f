"""What a client was told must be so: accepted jobs are there, once, whole batches of them, and they end."""

from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from chaos.casebook import Casebook, Finding
from chaos.history import Call
from chaos.invariants import ticks
from tenure.core.model.job import Job
from tenure.core.model.states import State

_STEP_OF = {"cancel": {"cancelling", "cancelled"}, "accept": {"accepted"}}


def i1_acknowledged_is_durable(book: Casebook) -> Iterator[Finding]:
    """I1: every job that was acknowledged is there, and so is every step that was."""
    for call in book.evidence.history:
        if call.outcome != "acknowledged":
            continue
        for job in call.jobs:
            if job not in book.jobs and book.terms.retention is None:
                yield job, f"{_named(call)} was acknowledged with this job, which is not there"
        steps = _STEP_OF.get(call.verb, set())
        for job in call.moved if steps else ():
            if job in book.jobs and not any(step.type in steps for step in book.lives[job].steps):
                yield job, f"{_named(call)} was acknowledged as a step of this job, which never took it"


def i2_no_phantoms(book: Casebook) -> Iterator[Finding]:
    """I2: every job was asked for: by a call that may have been done, or by an attempt of its parent."""
    if not book.evidence.history:
        return
    possible = [call for call in book.evidence.history if call.outcome != "refused"]
    answered = {job for call in possible for job in call.jobs}
    keys = {key for call in possible if call.outcome == "unknown" for key in call.keys}
    asked = {job for call in possible if call.outcome == "unknown" for job in call.asked}
    for job, _ in book.known():
        is_child = job.parent is not None and (
            job.parent not in book.jobs or bool(book.lives[job.parent].attempts)
        )
        if ticks.maker(job) is not None:
            continue  # I36 speaks of those
        if not (
            job.id in answered or job.key in keys or job.id in asked or job.replay_of in asked or is_child
        ):
            yield job.id, f"nobody asked for this job (key {job.key!r})"


def i3_one_job_per_key(book: Casebook) -> Iterator[Finding]:
    """I3: a key has one row, and every answer to it names that one."""
    first: dict[tuple[str, str, str], UUID] = {}
    for job, _ in book.known():
        if job.key is not None:
            other = first.setdefault((job.namespace, job.scope, job.key), job.id)
            if other != job.id:
                yield job.id, f"has key {job.key!r}, and so has {other}"
    answers: dict[str, UUID] = {}
    for call in book.evidence.history:
        if call.verb == "enqueue" and call.outcome == "acknowledged" and len(call.keys) == len(call.jobs):
            for key, answer in zip(call.keys, call.jobs, strict=True):
                if answers.setdefault(key, answer) != answer:
                    yield answer, f"{_named(call)} was answered with it for key {key!r}, not {answers[key]}"


def i5_batch_is_atomic(book: Casebook) -> Iterator[Finding]:
    """I5: of the jobs of one call all are there, made at one time, or none."""
    made = {job.key: job.created_at for job, _ in book.known()}
    company: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    possible: set[str] = set()
    for call in book.evidence.history:
        for key in call.keys:
            company[key].add(tuple(call.keys))
        if call.outcome != "refused":
            possible.update(call.keys)
    for call in book.evidence.history if book.terms.retention is None else ():
        # A key that another call brought in other company says nothing about this one.
        own = [key for key in call.keys if len(company[key]) == 1]
        there = [made[key] for key in own if key in made]
        is_torn = 0 < len(there) < len(own) and call.outcome != "acknowledged"  # or else I1 speaks of it
        is_refused = call.outcome == "refused" and bool(there) and not possible.intersection(own)
        if call.batch and (is_torn or is_refused or len(set(there)) > 1):
            yield None, f"{_named(call)}, {call.outcome}: of {len(own)} jobs {len(there)} are there: {there}"


def i6_one_ending(book: Casebook) -> Iterator[Finding]:
    """I6: a job ends once; and when all is at rest, every job that somebody serves has ended."""
    for job, life in book.known():
        endings = sum(step.target.is_final for step in life.steps)
        if endings > 1:
            yield job.id, f"ended {endings} times"
        elif job.state.is_final and not endings:
            yield job.id, f"is {job.state}, and nothing on record says when that came about"
        elif book.terms.quiet and not job.state.is_final and not _may_rest(book, job):
            yield job.id, f"has not ended: it is {job.state}"


def i44_retention_is_safe(book: Casebook) -> Iterator[Finding]:
    """I44: what is gone had ended and its time was over; nothing of it is left behind."""
    kept = book.terms.retention
    for life in book.lives.values():
        if life.job is not None:
            continue
        if life.events or life.attempts:
            yield life.id, "events or attempts are left of a job that is gone"
        if not life.sightings:
            continue
        last = life.sightings[-1].job
        if kept is None:
            yield life.id, f"was seen {last.state} and is gone, though nothing was pruned"
        elif last.finished_at is None:
            yield life.id, f"was last seen {last.state} and is gone"
        else:
            horizon = kept.succeeded if last.state is State.SUCCEEDED else kept.others
            if last.key is not None:
                horizon = max(horizon, kept.keyed)
            if last.finished_at + horizon > book.evidence.now:
                yield life.id, f"ended at {last.finished_at} and is gone before its {horizon} were over"


INVARIANTS = (
    i1_acknowledged_is_durable,
    i2_no_phantoms,
    i3_one_job_per_key,
    i5_batch_is_atomic,
    i6_one_ending,
    i44_retention_is_safe,
)


def _may_rest(book: Casebook, job: Job) -> bool:
    """Whether a job waits for something that only the future or somebody else can bring."""
    is_ahead = job.due_at is not None and job.due_at > book.evidence.now
    return job.state is State.CREATED or is_ahead or not book.is_served(job)


def _named(call: Call) -> str:
    return f"{call.verb} number {call.number}"
