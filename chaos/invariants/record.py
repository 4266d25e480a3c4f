"""What is on record: legal steps without a gap, a row that is their sum, and an end that stays as it is."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from chaos.casebook import CLOCK, TAKERS, Casebook, Finding, Life, is_note
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.states import FINAL, STEPS, State
from tenure.core.model.trail import RESCHEDULED
from tenure.core.values.bounds import MOST_HAND_BACKS

_ENDINGS = {
    Ending.SUCCEEDED: {State.SUCCEEDED},
    Ending.RECOVERABLE: {State.RETRYING, State.FAILED, State.CANCELLED},
    Ending.UNRECOVERABLE: {State.FAILED},
    Ending.STOPPED: {State.CANCELLED},
    Ending.SUSPENDED: {State.SUSPENDED, State.FAILED, State.CANCELLED},
    Ending.HANDED_BACK: {State.QUEUED, State.FAILED, State.CANCELLED},
    Ending.KILLED: {State.QUEUED, State.BURIED, State.FAILED, State.CANCELLED},
    Ending.LOST: {State.QUEUED, State.BURIED, State.FAILED, State.CANCELLED},
}
"""Where the ending of an attempt may lead its job."""
_WAITING = {State.SCHEDULED, State.RETRYING}
_LEGAL = {(step.source, step.target, step.event) for step in STEPS}
_BY = {
    (source, target, event): {step.by for step in STEPS if step[:3] == (source, target, event)}
    for source, target, event in _LEGAL
}


def i7_legal_moves_only(book: Casebook) -> Iterator[Finding]:
    """I7: every step is in the table, begins where the one before ended, and is taken by who may take it.

    Notes move nothing, and only a job that waits for a time is given another.
    """
    for life in book.lives.values():
        for note in filter(is_note, life.events):
            if note.source is not note.target or (note.type == RESCHEDULED and note.source not in _WAITING):
                yield life.id, f"{_told(note)} moves it, or is of a job that does not wait"
        state: State | None = None
        for step in life.steps:
            move = (step.source, step.target, step.type)
            if state is not None and state.is_final:
                pass  # I15 speaks of those
            elif move not in _LEGAL:
                yield life.id, f"{_told(step)} is no step of the table"
            elif step.actor in {CLOCK, *TAKERS} and step.actor not in _BY[move]:
                yield life.id, f"{_told(step)} was taken by the {step.actor}"
            elif step.source is not state:
                yield life.id, f"{_told(step)} follows {state}"
            state = step.target


def i8_row_is_the_sum_of_its_events(book: Casebook) -> Iterator[Finding]:
    """I8: folding a job's events gives its row and its attempts; counting jobs gives the totals of lines."""
    for job, life in book.known():
        if not _is_whole(job, life.events):
            continue  # I10 and I11 speak of those
        for name, folded in _fold(life.steps).items():
            # What has kept steps is given back without being counted, and begins anew when it waits.
            is_judged = name != "hand_backs" or job.id not in book.progress
            if is_judged and getattr(job, name) != folded:
                yield job.id, f"{name} is {getattr(job, name)}, and its events make it {folded}"
        yield from _steps_agree(life)
        yield from _attempts_agree(life)
    counted: dict[Line, Counter[State]] = {}
    for job, _ in book.known():
        counted.setdefault(Line(job.queue, job.definition, job.version), Counter())[job.state] += 1
    for status in book.evidence.lines:
        total = Counter({state: n for state, n in status.counts.items() if n})
        if total != counted.get(status.line, Counter()):
            yield None, f"{status.line}: the totals say {total}, its jobs {counted.get(status.line)}"


def i9_terminal_is_frozen(book: Casebook) -> Iterator[Finding]:
    """I9: a job that was once seen finished is at the end what it was; running it again makes a new one."""
    for job, life in book.known():
        for sighting in life.sightings:
            then = _but_for_notes(sighting.job)
            if then.state.is_final and then != (now := _but_for_notes(job)):
                changed = [
                    name for name in Job.__struct_fields__ if getattr(then, name) != getattr(now, name)
                ]
                yield (
                    job.id,
                    f"was seen {then.state} at {sighting.at}; since then changed {', '.join(changed)}",
                )
                break
        again = book.jobs.get(job.replay_of) if job.replay_of else None
        if again is not None and (again.finished_at is None or again.finished_at > job.created_at):
            yield job.id, f"replays {again.id}, which had not ended"


def i10_history_is_whole(book: Casebook) -> Iterator[Finding]:
    """I10: events are numbered 1, 2, 3 … without a gap, and time never runs backwards between them."""
    for life in book.lives.values():
        numbers = [event.n for event in life.events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield life.id, f"its events are numbered {numbers}"
        for one, next_ in pairwise(life.events):
            if next_.at < one.at:
                yield life.id, f"event {next_.n} was at {next_.at}, the one before it at {one.at}"


def i11_row_and_event_commit_together(book: Casebook) -> Iterator[Finding]:
    """I11: at the end and at every look in between, a row says of itself what its last event says."""
    for job, life in book.known():
        numbers = {event.n: event for event in life.events}
        for seen in [*(sighting.job for sighting in life.sightings), job]:
            last = numbers.get(seen.events)
            if last is None or (seen is job and len(numbers) != job.events):
                yield job.id, f"was {seen.state} after {seen.events} events; {len(numbers)} are on record"
                break
            if seen is not job and (seen.state, seen.fence) != (last.target, last.fence):
                yield job.id, f"was seen {seen.state} under fence {seen.fence}, and {_told(last)}"
                break


INVARIANTS = (
    i7_legal_moves_only,
    i8_row_is_the_sum_of_its_events,
    i9_terminal_is_frozen,
    i10_history_is_whole,
    i11_row_and_event_commit_together,
)


def _is_whole(job: Job, events: list[Event]) -> bool:
    return len(events) == job.events and [event.n for event in events] == list(range(1, job.events + 1))


def _fold(steps: list[Event]) -> dict[str, object]:
    """What a job's row must say after these steps."""
    attempt = failures = hand_backs = suspensions = fence = 0
    last: dict[str, Event] = {}
    for step in steps:
        last[step.target] = step
        last[step.type] = step
        match step.type:
            case "started":
                attempt, fence = attempt + 1, step.fence
            case "suspended":
                attempt, suspensions = attempt - 1, suspensions + 1
            case "handed_back" if hand_backs < MOST_HAND_BACKS:
                attempt, hand_backs = attempt - 1, hand_backs + 1
            case "retrying" | "orphaned" | "buried":
                failures += 1
            case "failed":
                failures += step.actor != CLOCK  # the clock only gives up what had failed before
    ended = next((last[state] for state in FINAL if state in last), None)
    return {
        "state": steps[-1].target,
        "fence": fence,
        "attempt": attempt,
        "failures": failures,
        "hand_backs": hand_backs,
        "suspensions": suspensions,
        "queued_at": last[State.QUEUED].at if State.QUEUED in last else None,
        "started_at": last["started"].at if "started" in last else None,
        "finished_at": ended.at if ended else None,
    }


def _steps_agree(life: Life) -> Iterator[Finding]:
    """Every step says under which claim it was taken."""
    claim = (0, 0)
    for step in life.steps:
        if step.type == "started":
            claim = (step.attempt, step.fence)
        elif (step.attempt, step.fence) != claim and not _is_refunded(step, claim):
            yield life.id, f"{_told(step)} is said to be of attempt {step.attempt}, fence {step.fence}"


def _is_refunded(step: Event, claim: tuple[int, int]) -> bool:
    """Whether a step between two claims says the number that is left when one was given back."""
    is_between = step.source is not None and not step.source.is_owned
    return is_between and (step.attempt + 1, step.fence) == claim


def _attempts_agree(life: Life) -> Iterator[Finding]:
    left = dict(life.attempts)
    for claim, end in life.claims():
        attempt = left.pop(claim.fence, None)
        if attempt is None:
            yield life.id, f"{_told(claim)}, and no attempt is on record"
        elif _said_by(claim, end) != _said(attempt):
            yield life.id, f"the attempt under fence {claim.fence} says {_said(attempt)}, its events not"
        elif end is not None and not _is_ending_of(attempt, end):
            yield life.id, f"the attempt under fence {claim.fence} is {attempt.ending}, and {_told(end)}"
    for fence in left:
        yield life.id, f"an attempt under fence {fence} is on record, and no claim"


def _is_ending_of(attempt: Attempt, end: Event) -> bool:
    if attempt.ending is None or (attempt.ending is Ending.LOST) != (end.actor in TAKERS):
        return False
    return end.target in _ENDINGS[attempt.ending]


def _said(attempt: Attempt) -> tuple[object, ...]:
    return attempt.number, attempt.worker, attempt.started_at, attempt.ended_at


def _said_by(claim: Event, end: Event | None) -> tuple[object, ...]:
    return claim.attempt, claim.actor, claim.at, end.at if end else None


def _but_for_notes(job: Job) -> Job:
    # A note may be added behind the end, and a limit's size belongs to its name, not to the job.
    return replace(job, events=0, limits=())


def _told(event: Event) -> str:
    kind = "note" if is_note(event) else "step"
    return f"{kind} {event.n}, {event.source} to {event.target} ({event.type}) by {event.actor},"
