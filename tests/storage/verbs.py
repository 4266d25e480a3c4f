"""Short functions of the contract suite for what happens to a job: `enqueue_one`, `claim`, `settle` …"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model import trail as trails
from tenure.core.model.job import Event, Job, NewJob, StepTaken
from tenure.core.model.lease import Claimed, Lease, Line, Order
from tenure.core.model.outcome import (
    Attempt,
    Outcome,
    Recoverable,
    Report,
    Settled,
    Stopped,
    Succeeded,
    Suspended,
    Unrecoverable,
)
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import FIRST, State, is_legal
from tenure.core.model.trail import CUSTOM, LogLine, Note, Trail, Usage
from tenure.core.reports.reading import FeedEntry, Filter, Listed, Position
from tenure.core.reports.retention import Pruned
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store, Wakeups
from tests import canaries
from tests.storage.backends import Backend
from tests.storage.clock import START
from tests.until import until

MAIL = Line("default", "mail")
BOOM = Failure("ValueError", "boom")
EVERY_JOB = Filter()
SECRET = Document(f'{{"password":"{canaries.PARAM}"}}')
PATIENCE = 60.0
"""Seconds after which something expected is taken never to come; usually it comes at once."""


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


async def enqueue_one(store: Store, definition: str = "mail", **fields: Any) -> UUID:
    """Record one job; returns its id."""
    [enqueued] = await store.enqueue([NewJob(definition=definition, **fields)])
    return enqueued.id


async def claim(
    store: Store,
    worker: str = "a",
    limit: int = 10,
    lines: Iterable[Line] = (MAIL,),
    lease_for: timedelta = timedelta(seconds=30),
) -> list[Claimed]:
    """Claim without settling anything."""
    order = Order(worker=worker, lines=tuple(lines), limit=limit, lease_for=lease_for)
    return list((await store.settle_and_claim([], order)).claimed)


async def settle(store: Store, reports: Iterable[Report], worker: str = "a") -> Settled:
    """Settle without claiming anything."""
    return (await store.settle_and_claim(list(reports), Order(worker=worker, lines=(), limit=0))).settled


def report(claimed: Claimed | Lease, outcome: Outcome, usage: Usage | None = None) -> Report:
    return Report(claimed.lease if isinstance(claimed, Claimed) else claimed, outcome, usage)


def succeeded(claimed: Claimed | Lease, result: str = '{"ok":true}') -> Report:
    return report(claimed, Succeeded(Document(result)))


def recoverable(
    claimed: Claimed | Lease, after: timedelta = timedelta(seconds=5), error: Failure = BOOM
) -> Report:
    return report(claimed, Recoverable(error, after))


def unrecoverable(claimed: Claimed | Lease, error: Failure = BOOM) -> Report:
    return report(claimed, Unrecoverable(error))


def stopped(claimed: Claimed | Lease) -> Report:
    return report(claimed, Stopped())


def suspended(claimed: Claimed | Lease, after: timedelta = timedelta(seconds=60)) -> Report:
    return report(claimed, Suspended(after))


def line(n: int, text: str = "hello", level: str = "info", fields: Document | None = None) -> LogLine:
    """A log line, at a time of its own."""
    return LogLine(n, START + timedelta(milliseconds=n), level, text, fields)


def note(name: str = "sent", payload: str | None = None) -> Note:
    """A handler's own note."""
    return Note(CUSTOM + name, None if payload is None else Document(payload))


def trail(claimed: Claimed | Lease, *parts: LogLine | Note) -> Trail:
    """Log lines and notes of an attempt."""
    lease = claimed.lease if isinstance(claimed, Claimed) else claimed
    lines = tuple(one for one in parts if isinstance(one, LogLine))
    return Trail(lease, lines, tuple(one for one in parts if isinstance(one, Note)))


def steps(moved: Iterable[StepTaken]) -> list[StepTaken]:
    """The steps alone, without the attempts that they ended."""
    return [replace(one, lapsed=None) for one in moved]


async def lines_of(store: Store, job: UUID) -> list[LogLine]:
    """All that a job's attempts wrote, in order."""
    return [logged.line for logged in await store.logs(job, limit=10_000)]


async def state_of(store: Store, job: UUID) -> State:
    found = await store.get(job)
    assert found is not None
    return found.state


async def path_of(store: Store, job: UUID) -> list[str]:
    """The event types of one job, in order."""
    return [event.type for event in await store.events(job)]


async def job_in(store: Store, state: State, **fields: Any) -> UUID:
    """Bring a job into a state by the usual steps; its definition has the state's name."""
    if state is State.CREATED:
        fields["hold"] = True
    elif state is State.SCHEDULED:
        fields["delay"] = seconds(60)
    elif state is State.BURIED:
        fields["policy"] = Policy(on_lost=OnLost.BURY)
    job = await enqueue_one(store, state.value, **fields)
    if state is State.CANCELLED:
        await store.cancel([job])
    elif state not in FIRST:
        [owned] = await claim(store, limit=1, lines=[Line(fields.get("queue", "default"), state.value)])
        assert owned.lease.job == job
        await _end_in(store, owned, state)
    return job


async def one_in_each_state(store: Store, **fields: Any) -> dict[State, UUID]:
    """A job in every state."""
    return {state: await job_in(store, state, **fields) for state in State}


async def _end_in(store: Store, owned: Claimed, state: State) -> None:
    match state:
        case State.CANCELLING:
            await store.cancel([owned.lease.job])
        case State.RETRYING:
            await settle(store, [recoverable(owned)])
        case State.SUSPENDED:
            await settle(store, [suspended(owned)])
        case State.SUCCEEDED:
            await settle(store, [succeeded(owned)])
        case State.FAILED:
            await settle(store, [unrecoverable(owned)])
        case State.BURIED:
            await store.hand_back("a", unstarted=[], killed=[owned.lease])


async def found(store: Store, job: UUID) -> Job:
    """A job that exists."""
    job_found = await store.get(job)
    assert job_found is not None
    return job_found


async def record_of(store: Store, job: UUID) -> tuple[Job, list[Event], list[Attempt]]:
    """All that is on record of one job: compare two of these to see that nothing changed."""
    return await found(store, job), await store.events(job), await store.attempts(job)


async def listed(
    store: Store, which: Filter = EVERY_JOB, *, limit: int = 50, newest_first: bool = True
) -> list[Listed]:
    """All pages of a list, one after the other."""
    jobs: list[Listed] = []
    page = await store.page(which, newest_first=newest_first, limit=limit)
    jobs += page.jobs
    while page.next is not None:
        page = await store.page(which, after=page.next, newest_first=newest_first, limit=limit)
        jobs += page.jobs
    return jobs


async def fed(
    store: Store, number: int, *, after: Position | None = None, limit: int = 1000
) -> list[FeedEntry]:
    """The feed from a position to its end, read until there are so many events; it may be held back."""
    entries: list[FeedEntry] = []
    async with asyncio.timeout(PATIENCE):
        while True:
            more = await store.feed(after, limit=limit)
            assert len(more) <= limit
            entries += more
            if more:
                after = more[-1].position
            elif len(entries) >= number:
                return entries


async def count(backend: Backend, table: str) -> int:
    """How many rows a table has, by plain SQL."""
    [(rows,)] = await backend.sql(f"SELECT count(*) FROM {table}")
    return int(rows)


def hold_together(events: Sequence[Event]) -> bool:
    """Whether a history has no gap: each event is the next, a note or a legal step from where it was."""
    sources = [None, *(event.target for event in events)]
    return all(
        event.n == n and event.source == source and (is_legal(source, event.target) or is_note(event))
        for n, (event, source) in enumerate(zip(events, sources, strict=False), start=1)
    )


def is_note(event: Event) -> bool:
    """Whether an event is not a step."""
    return event.source is event.target and trails.is_note(event.type)


async def spoil_next_event(backend: Backend, key: str) -> None:
    """Put an event where a job's next step would write its own, so that no step can be recorded."""
    await backend.sql(f"""
        INSERT INTO tenure.event (job, n, source, target, attempt, fence, at, type, actor, mark)
        SELECT s.id, s.n + 1, 'queued', 'running', 1, 1, s.updated_at, 'started', 'nobody', j.mark
          FROM tenure.job_state s JOIN tenure.job j ON j.id = s.id WHERE j.key = '{key}'""")


async def step_over_spoilt_event(backend: Backend, key: str) -> None:
    """Let a job with a spoilt event go on, one number further."""
    await backend.sql(f"""
        UPDATE tenure.job_state SET n = n + 1 WHERE id = (SELECT id FROM tenure.job WHERE key = '{key}')""")


async def columns_of(backend: Backend, table: str) -> list[str]:
    """The columns of a table, as the database itself says."""
    lists = {
        "sqlite": f"SELECT name FROM pragma_table_info('{table}')",
        "postgres": f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass"
        " AND attnum > 0 AND NOT attisdropped",
    }
    return [name for (name,) in await backend.sql(lists[backend.kind])]


async def copy_row(backend: Backend, table: str, where: str, **changed: str) -> None:
    """Insert a row once more by plain SQL, some columns changed to other SQL expressions."""
    columns = await columns_of(backend, table)
    values = ", ".join(changed.get(column, column) for column in columns)
    await backend.sql(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE {where}"
    )


async def fall_asleep(wakeups: Wakeups) -> None:
    """Wait until there are no more hints of what has been, nor of having begun to listen."""
    async with asyncio.timeout(PATIENCE):
        await until(lambda: wakeups.is_live)  # going live is itself a hint
        while await wakeups.wait(0.1):
            pass


async def woken(wakeups: Wakeups) -> bool:
    """Whether a hint comes, sooner or later."""
    return await wakeups.wait(PATIENCE)


def jobs_and_next(pruned: Pruned) -> tuple[int, UUID | None]:
    """How many jobs a round of pruning removed, and where the next one starts."""
    return pruned.jobs, pruned.next
