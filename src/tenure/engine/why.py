"""Why a job does not run: turns what a store knows of its obstacles into sentences. Reads nothing itself."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.limit import SCHEDULE_LIMIT
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.flow import Flows
from tenure.core.reports.obstacles import LimitStanding, LiveWorkers, Obstacles
from tenure.core.reports.operations import Pause, PauseScope
from tenure.core.reports.why import Obstacle, Why, WhyCode, WhyData
from tenure.engine.phrases import counted, duration, error_text, joined, moment
from tenure.engine.waits import awaited, doubts

LATE = timedelta(seconds=5)
"""How late a step of the clock may be before it counts as missed."""

MOST_IN_SENTENCE = 3
_NO_ONE = "No live worker, `tenure api` or `tenure serve` uses this database"
_START_ANY = "Start one of them."
_SOON = "Its time has come: it is queued any moment."
_SOON_UNSURE = (
    "Its time has come: it is queued any moment, unless the server that did this has just ended. "
    "No live worker is known."
)


def explain(found: Obstacles, flows: Flows | None = None, *, namespace: str | None = None) -> Why:
    """The first obstacle of a job, with all others behind it.

    For a caller that is bound to a `namespace`, jobs of others are not named, nor who paused a line and why.
    """
    limits = [_shown(limit, namespace) for limit in found.limits if limit.is_full]
    first, *others = _in_order(found, limits, flows, is_fenced=namespace is not None)
    is_queued = found.job.state is State.QUEUED
    return Why(
        code=first.code,
        sentence=first.sentence,
        since=first.since,
        until=first.until,
        data=WhyData(
            also=others,
            ahead=found.ahead if is_queued else None,
            starts_in=_starts_in(found, flows),
            limits=[] if found.job.state.is_final else limits,
            workers=None if found.job.state.is_final else found.workers,
        ),
    )


def _in_order(
    found: Obstacles, limits: Sequence[LimitStanding], flows: Flows | None, *, is_fenced: bool
) -> Iterator[Obstacle]:
    """All obstacles in the order of their codes; at least one."""
    job = found.job
    if job.state.is_final:
        yield _finished(found)
        yield from doubts(found)
        return
    yield from _aside(found)
    yield from _stuck(found)
    if job.state.is_owned:
        yield from _lapsed(found)
        yield _owned(found, is_fenced=is_fenced)
        yield from doubts(found)
        return
    yield from _missed(found)
    yield from _waiting(found)
    yield from (_paused(pause, is_fenced=is_fenced) for pause in _queues_first(found.pauses))
    yield from map(_full, limits)
    yield from _unserved(found)
    if job.state is State.QUEUED:
        yield from _served(found, flows)
    elif job.due_at is not None and not _is_due(found) and not found.is_upkept:
        yield Obstacle(WhyCode.NOTHING_PROMOTES, f"{_NO_ONE}, so nothing will queue it in time. {_START_ANY}")
    yield from doubts(found)


def _finished(found: Obstacles) -> Obstacle:
    job, error = found.job, found.error
    match job.state:
        case State.SUCCEEDED:
            how = (
                f"It succeeded at {moment(job.finished_at)}, in attempt {job.attempt} of {job.max_attempts}."
            )
        case State.CANCELLED:
            how = f"It was cancelled at {moment(job.finished_at)}."
        case State.BURIED:
            how = (
                f"Its worker was lost, or stopped before it ended, at {moment(job.finished_at)}, and it "
                "must not run twice, so it was buried."
            )
        case _:
            last = "" if error is None else f", with {error_text(error)}"
            tries = counted(job.attempt, "attempt")
            how = f"It failed for good at {moment(job.finished_at)}, after {tries}{last}."
    again = f" Run it again with `tenure jobs replay {job.id}`."
    if found.doubts:
        again = (
            f" A replay (`tenure jobs replay {job.id}`) begins without its steps and would have its effects "
            "again: first see which have happened."
        )
    if job.state is State.SUCCEEDED:
        again = ""
    return Obstacle(WhyCode.FINISHED, how + again, job.finished_at)


def _aside(found: Obstacles) -> Iterator[Obstacle]:
    if found.aside is not None:
        code = f"{found.aside.code}, " if found.aside.code else ""
        verb = found.aside.verb.replace("_", " ")
        yield Obstacle(
            WhyCode.ASIDE,
            f"It has been aside since {moment(found.job.aside_at)}, because the database refuses to "
            f"{verb} it ({code}{found.aside.text}). "
            f"Mend its rows, then run `tenure jobs put-back {found.job.id}`.",
            found.job.aside_at,
        )


def _stuck(found: Obstacles) -> Iterator[Obstacle]:
    if not found.is_placed and found.aside is None:
        missing = "lease" if found.job.state.is_owned else "timer" if found.job.due_at else "place in line"
        yield Obstacle(
            WhyCode.STUCK,
            f"It is {found.job.state} but has no {missing}, because rows were changed by hand: nothing will "
            "move it. `tenure doctor` tells how to mend it.",
            found.job.updated_at,
        )


def _lapsed(found: Obstacles) -> Iterator[Obstacle]:
    ended = found.lease_expires_at
    if ended is not None and found.now - ended > LATE and not found.is_upkept:
        yield Obstacle(
            WhyCode.NOTHING_PROMOTES,
            f"Its worker was lost at {moment(ended)}, and nothing takes it back. {_NO_ONE}. {_START_ANY}",
            ended,
        )


def _owned(found: Obstacles, *, is_fenced: bool) -> Obstacle:
    job = found.job
    where = "" if found.worker is None or is_fenced else f" on worker {found.worker}"
    if found.lease_expires_at is not None and found.lease_expires_at <= found.now:
        where += "; its worker has not been heard from, and the job is taken back soon"
    if job.state is State.CANCELLING:
        return Obstacle(
            WhyCode.CANCELLING,
            f"It was asked to stop at {moment(found.cancel_requested_at)} and still runs{where}. "
            f"What does not stop within its grace period of {duration(found.grace)} is killed.",
            found.cancel_requested_at,
        )
    attempt = f"attempt {job.attempt} of {job.max_attempts}"
    return Obstacle(
        WhyCode.RUNNING, f"It runs: {attempt}, since {moment(job.started_at)}{where}.", job.started_at
    )


def _missed(found: Obstacles) -> Iterator[Obstacle]:
    """The clock has made the job due, and nothing has queued it."""
    due = found.job.due_at
    if due is not None and found.now - due > LATE and not found.is_upkept:
        yield Obstacle(
            WhyCode.NOTHING_PROMOTES,
            f"It has been due since {moment(due)}, and nothing queues it. {_NO_ONE}. {_START_ANY}",
            due,
        )


def _waiting(found: Obstacles) -> Iterator[Obstacle]:
    """What a job that is not queued waits for."""
    job = found.job
    until = job.due_at
    when = "" if until is None else f"{moment(until)}, in {duration(until - found.now)}"
    soon = _SOON if found.workers.in_all else _SOON_UNSURE if found.is_upkept else "Its time has come."
    match job.state:
        case State.CREATED:
            yield Obstacle(
                WhyCode.HELD,
                f"It is held until you release it. Run `tenure jobs accept {job.id}`.",
                job.updated_at,
            )
        case State.SCHEDULED:
            text = soon if _is_due(found) else f"It is scheduled for {when}. {_run_now(job.id)}"
            yield Obstacle(WhyCode.SCHEDULED, text, job.updated_at, until)
        case State.RETRYING:
            error = "" if found.error is None else f" with {error_text(found.error)}"
            text = soon if _is_due(found) else f"It is tried again at {when}. {_run_now(job.id)}"
            failed = f"Attempt {job.attempt} of {job.max_attempts} failed{error}."
            yield Obstacle(WhyCode.BACKING_OFF, f"{failed} {text}", job.updated_at, until)
        case State.SUSPENDED:
            if _is_due(found):
                yield Obstacle(WhyCode.SLEEPING, soon, job.updated_at, until)
            else:
                yield awaited(found)


def _run_now(job: UUID) -> str:
    return f"Run it now with `tenure jobs run-now {job}`."


def _paused(pause: Pause, *, is_fenced: bool) -> Obstacle:
    scope = pause.scope
    by = "" if is_fenced else f" by {pause.by}"
    why = f" ({pause.reason})" if pause.reason and not is_fenced else ""
    until = "until it is resumed" if pause.until is None else f"until {moment(pause.until)}"
    name = f"Definition {scope}" if scope.definition else f"Queue {scope.queue}"
    return Obstacle(
        WhyCode.PAUSED_DEFINITION if scope.definition else WhyCode.PAUSED_QUEUE,
        f"{name} is paused{by}{why} {until}. Resume it with `tenure {_resume(scope)}`.",
        pause.at,
        pause.until,
    )


def _resume(scope: PauseScope) -> str:
    if not scope.definition:
        return f"queues resume {scope.queue}"
    version = f" --version {scope.version}" if scope.version else ""
    queue = f" --queue {scope.queue}" if scope.queue else ""
    return f"definitions resume {scope.definition}{version}{queue}"


def _full(limit: LimitStanding) -> Obstacle:
    use = limit.use
    key = f" for key {use.plain_key}" if use.plain_key else ""
    named = [f"job {one.job} ({one.definition}@{one.version})" for one in limit.holders[:MOST_IN_SENTENCE]]
    if use.name == SCHEDULE_LIMIT:
        return _behind_its_tick(limit, named)
    more = use.held - len(named)
    rest = [counted(more, "more job" if named else "job")] if more > 0 else []
    return Obstacle(
        WhyCode.LIMIT_FULL,
        f"The limit {use.name}{key} is full: {use.held} of {use.size} held by {joined([*named, *rest])}. "
        f"It starts when {'that job' if use.held == 1 else 'one of them'} ends, or after "
        f"`tenure limits set {use.name} {use.held + 1}`.",
        min((one.since for one in limit.holders), default=None),
    )


def _behind_its_tick(limit: LimitStanding, named: Sequence[str]) -> Obstacle:
    """The job of an earlier tick is in the way. No size is told: this limit is nobody's to change."""
    before = joined(named) if named else "a job of an earlier tick"
    return Obstacle(
        WhyCode.LIMIT_FULL,
        f"Its schedule {limit.use.plain_key} runs one job at a time, and {before} has not ended. It starts "
        "after that one; another `overlap` of the schedule counts for later ticks.",
        min((one.since for one in limit.holders), default=None),
    )


def _unserved(found: Obstacles) -> Iterator[Obstacle]:
    job, workers = found.job, found.workers
    name = f"{job.definition}@{job.version}"
    since = job.queued_at if job.state is State.QUEUED else None
    if workers.serving:
        return
    if workers.queues:
        yield Obstacle(
            WhyCode.UNSERVED_QUEUE,
            f"Nobody runs {name} in queue {job.queue}; workers serve it in {joined(workers.queues)}. "
            f"Start one with `tenure worker APP --queues {job.queue}`.",
            since,
        )
        return
    versions = [f"{job.definition}@{version}" for version in workers.versions]
    other = f" (workers in queue {job.queue} serve {joined(versions)})" if versions else ""
    yield Obstacle(
        WhyCode.UNSERVED_DEFINITION,
        f"Nobody runs {name}{other}. Start a worker whose app has it: `tenure worker APP`.",
        since,
    )


def _served(found: Obstacles, flows: Flows | None) -> Iterator[Obstacle]:
    """What a queued job waits for where workers serve its line."""
    workers, since = found.workers, found.job.queued_at
    if workers.serving and not workers.ready:
        yield Obstacle(WhyCode.WORKERS_NOT_READY, _unready(workers), since)
    if workers.ready and not workers.free:
        yield Obstacle(
            WhyCode.WORKERS_BUSY,
            f"{counted(workers.ready, 'worker')} can run it, and no slot is free: {workers.slots} of "
            f"{workers.slots} are busy. It starts when one is free; another worker or more `--slots` helps.",
            since,
        )
    yield Obstacle(WhyCode.IN_LINE, _place(found, flows), since)


def _unready(workers: LiveWorkers) -> str:
    serve = f"{counted(workers.serving, 'worker')} {'serves' if workers.serving == 1 else 'serve'} it"
    if workers.draining == workers.serving:
        rest = "drains and claims" if workers.serving == 1 else "drain and claim"
        return f"{serve}, but {rest} no more jobs. Start another one: `tenure worker APP`."
    draining = f" ({workers.draining} drained by an operator)" if workers.draining else ""
    return (
        f"{serve}{draining}, but cannot run jobs now: a worker that has just started imports its app first. "
        "If it stays so, the log of the worker says why."
    )


def _place(found: Obstacles, flows: Flows | None) -> str:
    where = f"{found.job.definition}@{found.job.version} in queue {found.job.queue}"
    ahead = found.ahead
    if not ahead.n:
        return f"It is the next of {where}: a worker takes it as soon as it has room."
    jobs = "1 job stands" if ahead == Count(1) else f"{ahead} jobs stand"
    starts_in = _starts_in(found, flows)
    guess = (
        "" if starts_in is None else f" By the pace of the queue it starts in about {duration(starts_in)}."
    )
    return f"{jobs} before it in line, among those of {where}.{guess}"


def _starts_in(found: Obstacles, flows: Flows | None) -> timedelta | None:
    """When it starts, by how many the queue has started lately; None if there were none."""
    if flows is None or found.job.state is not State.QUEUED or found.ahead.is_more or not found.ahead.n:
        return None
    _, started, _ = flows.a_minute(found.job.queue)
    return timedelta(minutes=found.ahead.n / started) if started else None


def _is_due(found: Obstacles) -> bool:
    return found.job.due_at is not None and found.job.due_at <= found.now


def _shown(limit: LimitStanding, namespace: str | None) -> LimitStanding:
    if namespace is None:
        return limit
    own = [replace(one, worker="") for one in limit.holders if one.namespace == namespace]
    return replace(limit, holders=own)


def _queues_first(pauses: Sequence[Pause]) -> list[Pause]:
    return sorted(pauses, key=lambda pause: bool(pause.scope.definition))
