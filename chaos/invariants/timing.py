"""Time: the store's alone, and nothing before it."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from chaos.casebook import Casebook, Finding, Life, in_seconds
from tenure.core.model.job import Event, Job
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.policy import RetryPolicy
from tenure.core.model.states import State
from tenure.core.model.trail import RESCHEDULED


def i18_store_clock_only(book: Casebook) -> Iterator[Finding]:
    """I18: every time on record is the store's: none ahead of it, none beside what was seen from outside."""
    now, fuzz, time = book.evidence.now, book.terms.fuzz, book.time
    for life in book.lives.values():
        if life.events and (last := max(event.at for event in life.events)) > now + fuzz:
            yield life.id, f"has an event {in_seconds(last - now)} ahead of the store's time"
        for entry in life.entries if time else ():
            attempt = life.attempts.get(entry.fence)
            if attempt is None:
                continue
            if attempt.started_at > time.latest(entry.at) + fuzz:
                yield life.id, f"its claim is dated {attempt.started_at}, after its {entry.kind}"
            elif attempt.ending is Ending.SUCCEEDED and _ended(attempt) < time.earliest(entry.at) - fuzz:
                yield life.id, f"its success is dated {attempt.ended_at}, before its {entry.kind}"
    for call in book.evidence.history if time else ():
        if call.verb != "enqueue" or call.answered_at is None:
            continue
        first, last = time.earliest(call.sent_at) - fuzz, time.latest(call.answered_at) + fuzz
        for made in call.moved:
            if made in book.jobs and not first <= book.jobs[made].created_at <= last:
                yield made, f"was made between {first} and {last}, and is dated {book.jobs[made].created_at}"
            elif made in book.jobs and any(event.at < first for event in book.lives[made].events):
                yield made, f"has an event before it was asked for at {first}"


def i23_never_early(book: Casebook) -> Iterator[Finding]:
    """I23: nothing starts before its time: neither the first attempt, nor one that has to wait."""
    for job, life in book.known():
        first = next((step for step in life.steps if step.type == "started"), None)
        run_at = _moved_to(life, 0, first.n if first else len(life.events) + 1) or job.run_at
        if first is not None and run_at is not None and first.at < run_at:
            yield job.id, f"was claimed {in_seconds(run_at - first.at)} before its time"
        if run_at is not None and book.time:
            for entry in life.entries:
                if book.time.latest(entry.at) + book.terms.fuzz < run_at:
                    yield job.id, f"wrote its {entry.kind} before its time, {run_at}"
        yield from _waited_too_little(life)
        if book.terms.backoff_by_policy:
            yield from _backed_off_otherwise(job, life)


INVARIANTS = (
    i18_store_clock_only,
    i23_never_early,
)


def _ended(attempt: Attempt) -> datetime:
    return attempt.ended_at or attempt.started_at


def _moved_to(life: Life, after: int, before: int) -> datetime | None:
    """The last time that the job was given between two of its events by an operator; None if it was not."""
    notes = [event for event in life.events if after < event.n < before and event.type == RESCHEDULED]
    return datetime.fromisoformat(json.loads(notes[-1].payload or "")["to"]) if notes else None


def _waited_too_little(life: Life) -> Iterator[Finding]:
    """A wait lasts until the end that it was seen with, or moved to; only being given up cuts it short."""
    for begun, ended in pairwise(life.steps):
        to = _moved_to(life, begun.n, ended.n)
        if to is not None and ended.target is State.QUEUED and ended.at < to:
            yield life.id, f"was moved to {to}, and {ended.type} at {ended.at}"
    for sighting in life.sightings:
        seen = sighting.job
        if seen.state not in {State.SCHEDULED, State.RETRYING, State.SUSPENDED} or seen.due_at is None:
            continue
        next_ = next((step for step in life.steps if step.n > seen.events), None)
        if next_ is not None and _moved_to(life, seen.events, next_.n) is not None:
            continue
        if seen.state is State.SUSPENDED and _waits_to_be_told(life, seen.events):
            continue
        if next_ is not None and next_.target is State.QUEUED and next_.at < seen.due_at:
            yield life.id, f"was {seen.state} until {seen.due_at}, and {next_.type} at {next_.at}"
            break


def _waits_to_be_told(life: Life, events: int) -> bool:
    """Whether a job that is suspended, after so many events, may go on before its time: it says what for."""
    return bool(next(step for step in reversed(life.steps) if step.n <= events).reason)


def _backed_off_otherwise(job: Job, life: Life) -> Iterator[Finding]:
    for failed, next_ in pairwise(life.steps):
        is_moved = _moved_to(life, failed.n, next_.n) is not None
        if failed.type == "retrying" and next_.target is State.QUEUED and not is_moved:
            least, _ = _bounds(job.policy.retry, failed.attempt)
            if next_.at - failed.at < least:
                yield job.id, f"was tried again after {in_seconds(next_.at - failed.at)}, not {least}"
    for sighting in life.sightings:
        seen = sighting.job
        failure = _event(life, seen.events)
        if (
            seen.state is State.RETRYING
            and seen.due_at is not None
            and failure
            and failure.type == "retrying"
        ):
            least, most = _bounds(job.policy.retry, failure.attempt)
            if not least <= seen.due_at - failure.at <= most + timedelta(milliseconds=1):
                yield job.id, f"waits {in_seconds(seen.due_at - failure.at)}, not {least} to {most}"
                break


def _bounds(policy: RetryPolicy, attempt: int) -> tuple[timedelta, timedelta]:
    doubled = policy.base * 2**attempt
    return min(policy.cap, doubled), min(policy.cap, doubled + policy.base)


def _event(life: Life, n: int) -> Event | None:
    return next((event for event in life.events if event.n == n), None)
