"""Schedules: each tick once, none missing, and no more runs, or at other times, than was asked for."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from chaos.casebook import Casebook, Finding
from chaos.schedules.lives import MADE, ScheduleLife
from tenure.core.model.job import Job
from tenure.core.schedule.backlog import MOST_COUNTED
from tenure.core.schedule.schedule import Overlap, Schedule, ScheduleName, Tick, TickOutcome

CREATOR = "schedule:"
"""How the creator of a job begins that a schedule has made."""


def maker(job: Job) -> ScheduleName | None:
    """The schedule that made a job; a replay or a child was made by somebody else."""
    if job.creator is None or not job.creator.startswith(CREATOR) or job.replay_of or job.parent:
        return None
    return ScheduleName(job.namespace, job.creator.removeprefix(CREATOR))


def i36_one_fire_per_tick(book: Casebook) -> Iterator[Finding]:
    """I36: a tick is on record once, with one job if it fired; a schedule's job has one tick."""
    ticks_of: dict[UUID, int] = defaultdict(int)
    for life in book.schedules.values():
        for at, times in Counter(tick.at for tick in life.ticks).items():
            if times > 1:
                yield None, f"{_named(life)}: its tick at {at} is on record {times} times"
        if life.row is None and life.ticks:
            yield None, f"{_named(life)}: {len(life.ticks)} ticks are left of it, and it is gone"
        for tick in life.ticks:
            if tick.job is not None:
                ticks_of[tick.job] += 1
            if life.row is not None and tick.noted_at is not None and tick.noted_at < life.row.created_at:
                yield None, f"{_named(life)}: its tick at {tick.at} was noted before it was made"
            yield from _without_job(book, life, tick)
    for job, _ in book.known():
        if (name := maker(job)) is None:
            continue
        if ticks_of[job.id] > 1:
            yield job.id, f"is the job of {ticks_of[job.id]} ticks"
        elif not ticks_of[job.id] and not _is_of_one_before(book, job, name):
            yield job.id, f"was made by the schedule {name.name}, and none of its ticks has it"


def i37_no_silent_misses(book: Casebook) -> Iterator[Finding]:
    """I37: ticks are where the rule puts them, not before their time, and none of them is missing."""
    for life in book.schedules.values():
        for tick in life.own_ticks:
            if tick.noted_at is not None and tick.noted_at < tick.at:
                yield None, f"{_named(life)}: its tick at {tick.at} was noted before, at {tick.noted_at}"
        row = life.row
        if row is None:
            continue
        last = max((tick.until or tick.at for tick in life.own_ticks), default=None)
        if row.next_at is not None and last is not None and row.next_at <= last:
            yield None, f"{_named(life)}: waits for {row.next_at}, and its tick at {last} is on record"
        if (until := book.terms.fired_until) is not None and _is_overdue(row, until - book.terms.resuming):
            yield None, f"{_named(life)}: nothing fires it; its tick at {row.next_at} was due at {until}"
        if life.spans:
            yield from _otherwise_than_the_rule(life)


def i49_remaining_counts_fired(book: Casebook) -> Iterator[Finding]:
    """I49: of the runs that a schedule may have, those are left that did not fire."""
    for life in book.schedules.values():
        if life.row is None or not life.editions:
            continue
        counted = [call for call in life.editions if call.verb == "create" or call.recounts][-1].schedule
        if counted is None or counted.remaining is None or counted.next_at is None:
            continue
        fired = sum(tick.at >= counted.next_at for tick in life.fired)
        if counted.remaining - fired != life.row.remaining:
            left = life.row.remaining
            yield None, f"{_named(life)}: of {counted.remaining} runs {fired} fired, and {left} are left"


def i50_overlap_as_asked(book: Casebook) -> Iterator[Finding]:
    """I50: under `skip`, `queue` and `cancel` no two runs of a schedule are at work, each in its own way."""
    for life in book.schedules.values():
        policies = {call.schedule.asked.overlap for call in life.editions if call.schedule}
        if life.row is None or len(policies | {life.row.asked.overlap}) > 1:
            continue  # those of before an edit are not asked about
        jobs = [(tick, book.jobs[tick.job]) for tick in life.fired if tick.job in book.jobs]
        match life.row.asked.overlap:
            case Overlap.SKIP:
                yield from _at_once(life, jobs)
                yield from _skipped_for_nothing(book, life)
            case Overlap.QUEUE | Overlap.CANCEL as policy:
                yield from _at_work_at_once(book, life)
                if policy is Overlap.CANCEL:
                    yield from _not_cancelled(book, life, jobs)


def i51_pause_holds(book: Casebook) -> Iterator[Finding]:
    """I51: a schedule that is paused fires nothing."""
    for life in book.schedules.values():
        for begin, end in _pauses(book, life):
            for tick in life.fired:
                if tick.noted_at is not None and begin < tick.noted_at < end:
                    yield tick.job, f"{_named(life)}: fired at {tick.noted_at}, paused from {begin} to {end}"


INVARIANTS = (
    i36_one_fire_per_tick,
    i37_no_silent_misses,
    i49_remaining_counts_fired,
    i50_overlap_as_asked,
    i51_pause_holds,
)


def _without_job(book: Casebook, life: ScheduleLife, tick: Tick) -> Iterator[Finding]:
    if (tick.job is not None) != (tick.outcome in MADE):
        yield tick.job, f"{_named(life)}: its tick at {tick.at} is {tick.outcome}, with the job {tick.job}"
    elif tick.job is not None and book.terms.retention is None:
        job = book.jobs.get(tick.job)
        if job is None:
            yield tick.job, f"{_named(life)}: its tick at {tick.at} {tick.outcome}, and there is no such job"
        elif maker(job) != life.name:
            yield tick.job, f"{_named(life)}: the job of its tick at {tick.at} was made by {job.creator}"


def _is_overdue(row: Schedule, until: datetime) -> bool:
    return row.paused_at is None and row.next_at is not None and row.next_at < until


def _is_of_one_before(book: Casebook, job: Job, name: ScheduleName) -> bool:
    """Whether a job may have been made by a schedule that was deleted later, with its ticks."""
    life = book.schedules.get(name)
    if life is None or (life.row is not None and job.created_at >= life.row.created_at):
        return False
    return any(
        job.created_at <= book.time.latest(call.answered_at) + book.terms.fuzz
        for call in life.calls
        if call.verb == "delete"
    )


def _otherwise_than_the_rule(life: ScheduleLife) -> Iterator[Finding]:
    """What is on record and in no span of a rule, and the reverse."""
    due = {tick for span in life.spans for tick in span.ticks}
    gaps = [tick for tick in life.own_ticks if tick.until is not None]
    known = {at for tick in life.own_ticks for at in (tick.at, tick.until or tick.at)}
    for at in sorted(known - due):
        yield None, f"{_named(life)}: has a tick at {at}, where its rule has none"
    for tick in sorted(due - known):
        if not any(gap.at <= tick <= (gap.until or gap.at) for gap in gaps):
            yield None, f"{_named(life)}: its tick at {tick} is not on record"
    for gap in gaps:
        count = sum(gap.at <= tick <= (gap.until or gap.at) for tick in due)
        if min(count, MOST_COUNTED) != gap.count:
            yield None, f"{_named(life)}: {gap.count} are missed from {gap.at} on; its rule has {count}"


def _at_once(life: ScheduleLife, jobs: list[tuple[Tick, Job]]) -> Iterator[Finding]:
    for (_, before), (tick, job) in pairwise(jobs):
        if before.finished_at is None or before.finished_at > job.created_at:
            yield job.id, f"{_named(life)}: fired at {tick.at} while {before.id} had not ended"


def _skipped_for_nothing(book: Casebook, life: ScheduleLife) -> Iterator[Finding]:
    """A tick is overlapped by a run that had not ended when it came.

    An end bears the time at which its transaction began, and counts when that commits.
    """
    unseen = book.terms.frozen + book.terms.fuzz
    runs = [book.jobs[tick.job] for tick in life.ticks if tick.job in book.jobs]
    for tick in life.own_ticks:
        if tick.outcome is not TickOutcome.OVERLAPPED or tick.noted_at is None:
            continue
        if not any(
            job.created_at <= tick.noted_at
            and (job.finished_at is None or job.finished_at >= tick.at - unseen)
            for job in runs
        ):
            yield None, f"{_named(life)}: its tick at {tick.at} is overlapped, and nothing ran then"


def _at_work_at_once(book: Casebook, life: ScheduleLife) -> Iterator[Finding]:
    attempts = [
        attempt
        for tick in life.ticks
        if tick.job in book.lives
        for attempt in book.lives[tick.job].attempts.values()
    ]
    attempts.sort(key=lambda attempt: attempt.started_at)
    for one, next_ in pairwise(attempts):
        if one.job != next_.job and (one.ended_at is None or one.ended_at > next_.started_at):
            yield next_.job, f"{_named(life)}: was claimed at {next_.started_at} while {one.job} ran"


def _not_cancelled(book: Casebook, life: ScheduleLife, jobs: list[tuple[Tick, Job]]) -> Iterator[Finding]:
    for (_, before), (tick, job) in pairwise(jobs):
        asked = [
            step.at
            for step in book.lives[before.id].steps
            if step.target.is_final or step.type == "cancelling"
        ]
        if not asked or min(asked) > job.created_at:
            yield before.id, f"{_named(life)}: was not cancelled when the tick at {tick.at} fired"


def _pauses(book: Casebook, life: ScheduleLife) -> Iterator[tuple[datetime, datetime]]:
    """The times in which a schedule was surely paused."""
    since: float | None = None
    for call in life.own_calls if book.time else ():
        is_paused = call.schedule is not None and call.schedule.paused_at is not None
        if is_paused and since is None:
            since = call.answered_at
        elif not is_paused and since is not None:
            yield _between(book, since, call.sent_at)
            since = None
    if since is not None:
        yield book.time.latest(since) + book.terms.fuzz, book.evidence.now


def _between(book: Casebook, begin: float, end: float) -> tuple[datetime, datetime]:
    return book.time.latest(begin) + book.terms.fuzz, book.time.earliest(end) - book.terms.fuzz


def _named(life: ScheduleLife) -> str:
    return f"schedule {life.name.name}"
