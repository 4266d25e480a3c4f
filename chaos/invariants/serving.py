"""Workers: neighbours are left alone, caps hold, the order is kept, nobody starves, stopping is clean."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from chaos.casebook import Casebook, Finding, Life, in_seconds
from chaos.evidence import Outage, Stay
from tenure.core.model.job import Event, Job
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.states import State
from tenure.engine.worker.heartbeat import TRIES_A_LEASE
from tenure.surfaces.cli.process.event_loop import FORCED

_LEAST = 1e-6
"""Seconds that any work takes, however coarse the clock."""


def i29_neighbours_unaffected(book: Casebook) -> Iterator[Finding]:
    """I29: an attempt is lost only with its worker: whatever its neighbours do, their worker serves on."""
    for attempt, stay in _unharmed(book):
        if not _was_starved(book, stay, attempt):
            message = f"was lost under fence {attempt.fence}, and nobody had harmed {stay.worker}"
            yield attempt.job, message


def excused_by_the_machine(book: Casebook) -> int:
    """How many attempts were lost though nobody had harmed their worker, but for the machine's own load."""
    return sum(_was_starved(book, stay, attempt) for attempt, stay in _unharmed(book))


def i30_caps_hold(book: Casebook) -> Iterator[Finding]:
    """I30: never more at once than a limit or a worker's slots allow, and no place is held by nobody."""
    running: Counter[tuple[str, str]] = Counter()
    sizes: dict[tuple[str, str], int] = {}
    under: dict[tuple[str, str], list[tuple[datetime, datetime]]] = defaultdict(list)
    at_work: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for job, life in book.known():
        for limit in job.limits:
            place = (limit.name, limit.key)
            sizes[place] = max(limit.size, sizes.get(place, 0))
            running[place] += job.state.is_owned
            under[place] += [_held(book, life, attempt) for attempt in life.attempts.values()]
        share = book.terms.shares.get(job.definition, "process")
        for attempt in life.attempts.values():
            # By the ledger: what a worker holds to begin in a moment is on record as begun.
            at_work[attempt.worker, share] += _spans(life, attempt.fence)
    for place, size in sizes.items():
        if (most := _most_together(span for span in under[place] if span[0] < span[1])) > size:
            yield None, f"{most} ran at once under limit {place}, which is {size}"
    for use in book.evidence.limits:
        if use.held != (run := running[use.name, use.key]):
            yield None, f"{use.held} places are held under {use.name}, {use.key!r}; {run} run"
    for (worker, share), spans in at_work.items() if book.terms.slots is not None else ():
        if (most := _most_together(spans)) > (book.terms.slots or 0):
            yield None, f"{worker} ran {most} at once in {share} and has {book.terms.slots} slots there"


def i31_graceful_stop(book: Casebook) -> Iterator[Finding]:
    """I31: after SIGTERM no new claim, nothing lost; exit 0 then, and not when it was killed."""
    for stay in book.evidence.stays:
        if stay.killed and stay.exit_code == 0:
            yield None, f"{stay.worker} was killed and exited 0"
        if stay.stop_at is None or stay.killed:
            continue
        # The second signal may come too late to force anything.
        if stay.ended_at is not None and stay.exit_code not in ({0, FORCED} if stay.forced else {0}):
            yield None, f"{stay.worker} was asked to stop and exited {stay.exit_code}"
    stopping = {
        stay.worker: stay for stay in book.evidence.stays if stay.stop_at is not None and not stay.killed
    }
    for _, life in book.known() if book.time else ():
        for attempt in life.attempts.values():
            if attempt.worker in stopping:
                yield from _after_its_stop(book, stopping[attempt.worker], attempt)


def i32_priority_order(book: Casebook) -> Iterator[Finding]:
    """I32: with a single worker, nothing is claimed while something of higher priority stands in line."""
    if not book.terms.one_by_one:
        return
    waiting: dict[UUID, tuple[int, datetime]] = {}
    for step, job in _moves_in_line(book):
        if step.target is State.QUEUED:
            waiting[job.id] = (job.priority, step.at)
            continue
        waiting.pop(job.id, None)
        if step.type == "started":
            for other, (priority, since) in waiting.items():
                if priority > job.priority and since < step.at:
                    yield job.id, f"was claimed at {step.at}, before {other}, whose priority is {priority}"
                    break


def i33_no_starvation(book: Casebook) -> Iterator[Finding]:
    """I33: while a slot is free, nothing that could run waits for longer than two polls."""
    slots = (book.terms.slots or 0) * sum(stay.ended_at is None for stay in book.evidence.stays)
    if slots <= sum(job.state.is_owned for job, _ in book.known()):
        return
    for job, _ in book.known():
        since = _waits_since(job)
        if since is None or not book.is_served(job) or _is_full(book, job):
            continue
        if book.evidence.now - since > 2 * book.terms.poll + book.terms.rescue:
            yield job.id, f"is {job.state} for {in_seconds(book.evidence.now - since)}; slots are free"


def i34_no_deaf_workers(book: Casebook) -> Iterator[Finding]:
    """I34: when the database is back, claims go on at once, if there is anything to claim."""
    starts = sorted(
        (step.at, queued) for _, life in book.known() for queued, step in _waits(life) if book.time
    )
    for outage in book.evidence.outages:
        back = book.time.latest(outage.ended)
        by = back + book.terms.resuming
        is_cut_short = any(
            outage.ended < other.began and book.time.earliest(other.began) <= by
            for other in book.evidence.outages
        )
        later = [(at, queued) for at, queued in starts if at > back]
        # Who stood in line may stand there for long, behind others or a limit: any claim shows who hears.
        if any(queued <= back for _, queued in later) and not is_cut_short and min(later)[0] > by:
            first = min(later)[0]
            if first > by + _kept_waiting(book, outage, back, first):
                yield None, f"{in_seconds(first - back)} after the database was back came the first claim"


def i35_unknown_kind_is_not_loss(book: Casebook) -> Iterator[Finding]:
    """I35: a job that no worker knows waits: nobody runs it, and nobody's ignorance ends it."""
    for job, life in book.known():
        if book.is_served(job):
            continue
        if job.state in {State.FAILED, State.BURIED}:
            yield job.id, f"is {job.state}; no worker serves {job.definition}@{job.version} in {job.queue}"
        elif any(attempt.ending is not Ending.HANDED_BACK for attempt in life.attempts.values()):
            yield job.id, f"was run; no worker serves {job.definition}@{job.version} in {job.queue}"


INVARIANTS = (
    i29_neighbours_unaffected,
    i30_caps_hold,
    i31_graceful_stop,
    i32_priority_order,
    i33_no_starvation,
    i34_no_deaf_workers,
    i35_unknown_kind_is_not_loss,
)


def _unharmed(book: Casebook) -> Iterator[tuple[Attempt, Stay]]:
    """The attempts that were lost with no fault near their workers."""
    for _, life in book.known() if book.time else ():
        for attempt in life.attempts.values():
            if attempt.ending is Ending.LOST and attempt.ended_at is not None:
                for stay in book.stays.get(attempt.worker, ()):
                    if not _was_harmed(book, stay, *_when_lost(book, attempt)):
                        yield attempt, stay


def _when_lost(book: Casebook, attempt: Attempt) -> tuple[datetime, datetime]:
    """When a lease must have been missed that was found to have run out."""
    end = attempt.ended_at or book.evidence.now
    return max(attempt.started_at, end - 2 * book.terms.lease - book.terms.rescue), end


def _was_starved(book: Casebook, stay: Stay, attempt: Attempt) -> bool:
    """Whether the machine has kept a worker waiting for as long as a single heartbeat may take."""
    return book.starved(stay, *_when_lost(book, attempt)) >= book.terms.lease / TRIES_A_LEASE


def _was_harmed(book: Casebook, stay: Stay, begin: datetime, end: datetime) -> bool:
    is_ending = stay.ended_at is not None and book.time.earliest(stay.stop_at or stay.ended_at) <= end
    return is_ending or book.is_held_up(stay, begin, end) or bool(book.outages_between(begin, end))


def _after_its_stop(book: Casebook, stay: Stay, attempt: Attempt) -> Iterator[Finding]:
    # A claim may have been under way when the signal came, for long on a machine without time for it; what it
    # brings is given back unstarted.
    stopped = attempt.started_at if stay.stop_at is None else book.time.latest(stay.stop_at)
    late = attempt.started_at - stopped - book.terms.poll
    if late > timedelta(0) and late > book.starved(stay, stopped, attempt.started_at):
        yield attempt.job, f"was claimed by {stay.worker} after it was asked to stop"
    elif attempt.ending is Ending.LOST and not _is_excused(book, stay, attempt):
        yield attempt.job, f"was lost when {stay.worker} was asked to stop"


def _kept_waiting(book: Casebook, outage: Outage, back: datetime, first: datetime) -> timedelta:
    """For how long the machine had no time for any of the workers that were there when the store was back."""
    there = (
        stay
        for stay in book.evidence.stays
        if stay.started_at <= outage.ended and (stay.ended_at is None or stay.ended_at > outage.ended)
    )
    return min((book.starved(stay, back, first) for stay in there), default=timedelta(0))


def _is_excused(book: Casebook, stay: Stay, attempt: Attempt) -> bool:
    """Whether an attempt was lost before its worker was asked to stop, or when it could not give it back."""
    begin, end = _when_lost(book, attempt)
    before = stay.stop_at is None or end < book.time.earliest(stay.stop_at)
    serving = replace(stay, ended_at=None)  # that it has ended since is no excuse
    return (
        before or stay.forced or _was_harmed(book, serving, begin, end) or _was_starved(book, stay, attempt)
    )


def _spans(life: Life, fence: int) -> list[tuple[float, float]]:
    """When a handler was at work under a fence: one that did not live to say when it ended is left out."""
    starts = [entry.at for entry in life.entries if (entry.kind, entry.fence) == ("start", fence)]
    ends = [entry.at for entry in life.entries if (entry.kind, entry.fence) == ("end", fence)]
    return [(start, max(end, start + _LEAST)) for start, end in zip(starts, ends, strict=False)]


def _held(book: Casebook, life: Life, attempt: Attempt) -> tuple[datetime, datetime]:
    """When an attempt surely had its place: two transactions may be dated in the other order than they took
    effect, and a claim that had to wait is dated from before it waited."""
    starts = [entry.at for entry in life.entries if (entry.kind, entry.fence) == ("start", attempt.fence)]
    begun = book.time.earliest(min(starts)) if starts and book.time else attempt.started_at
    return max(begun, attempt.started_at), (attempt.ended_at or book.evidence.now) - book.terms.fuzz


def _most_together(spans: Iterable[tuple[Any, Any]]) -> int:
    edges = [edge for begin, end in spans for edge in ((begin, 1), (end, -1))]
    now = most = 0
    for _, change in sorted(edges):  # who leaves goes before who comes at the same moment
        now += change
        most = max(most, now)
    return most


def _moves_in_line(book: Casebook) -> list[tuple[Event, Job]]:
    """Steps into a line and out of it, in the order of time."""
    moves = [
        (step, job)
        for job, life in book.known()
        if not job.limits and book.is_served(job)
        for step in life.steps
        if State.QUEUED in {step.source, step.target}
    ]
    return sorted(moves, key=lambda move: (move[0].at, move[0].fence, -move[1].priority))


def _waits_since(job: Job) -> datetime | None:
    """Since when a job could have been claimed, or put in line."""
    match job.state:
        case State.QUEUED:
            return job.queued_at
        case State.SCHEDULED | State.RETRYING | State.SUSPENDED:
            return job.due_at
        case _:
            return None


def _is_full(book: Casebook, job: Job) -> bool:
    used = {(use.name, use.key): use for use in book.evidence.limits}
    uses = [used[limit.name, limit.key] for limit in job.limits if (limit.name, limit.key) in used]
    return any(use.held >= use.size for use in uses)


def _waits(life: Life) -> Iterator[tuple[datetime, Event]]:
    """Each claim, with since when the job had stood in line."""
    queued: datetime | None = None
    for step in life.steps:
        if step.target is State.QUEUED:
            queued = step.at
        elif step.type == "started" and queued is not None:
            yield queued, step
