"""All that a run leaves to judge it by, as plain data: gathered once, kept in a folder, read back as it was.

`Evidence` says nothing of how it came about, so the checker is the same for a campaign over real processes,
a scripted life in one process, and evidence forged by a test.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from chaos.charges import Charge
from chaos.deeds import Deed
from chaos.history import Call
from chaos.kept_progress import (
    FinishedStep,
    JobProgress,
    finished_steps,
    progress_of,
    those_with_any,
)
from chaos.ledger import Entry
from chaos.messages.passages import Passage
from chaos.schedules.calls import ScheduleCall, TickOf
from chaos.webhooks.told import Hook, Received
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line
from tenure.core.model.limit import LimitUse
from tenure.core.model.outcome import Attempt
from tenure.core.reports.operations import LineStatus
from tenure.core.reports.reading import FeedEntry, Filter, Position
from tenure.core.reports.retention import Retention
from tenure.core.schedule.schedule import Schedule, ScheduleName
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.delivery import Delivery
from tenure.storage.contract.store import Store

T = TypeVar("T")

AT_ONCE = 16
"""How many questions are put to a store at a time."""


class Terms(Struct, frozen=True, kw_only=True):
    """What the run was promised and set up with."""

    lease: timedelta = timedelta(seconds=30)
    heartbeat: timedelta = timedelta(seconds=10)
    poll: timedelta = timedelta(seconds=1)
    overlap: timedelta = timedelta(seconds=1)
    """For how long two attempts of one job may be seen at work at once."""
    rescue: timedelta = timedelta(seconds=1)
    """Within which a job is taken from a lost worker, once its lease has run out."""
    stopping: timedelta = timedelta(seconds=2)
    """Within which a job that was asked to stop has ended, beyond its own grace."""
    resuming: timedelta = timedelta(seconds=2)
    """Within which something is claimed when the database is back."""
    fuzz: timedelta = timedelta(milliseconds=50)
    """How far two readings of one clock may be apart."""
    frozen: timedelta = timedelta()
    """For how long a process may stand still between the begin of a transaction and what it asks there."""
    quiet: bool = True
    """Whether the run came to rest: no fault any more, and every job that somebody serves has ended."""
    served: frozenset[Line] = frozenset()
    """The lines that workers served; empty where that is not to be judged."""
    slots: int | None = None
    """How many jobs one worker ran at once in each share of its slots, at most."""
    shares: Mapping[str, str] = {}
    """The share of a worker's slots that a definition's jobs have, where it is not `process`."""
    effects: frozenset[str] = frozenset()
    """The definitions whose handlers write start, effect and end into the ledger."""
    one_by_one: bool = False
    """Whether there was a single worker that claimed one job at a time: then the order is to be judged."""
    backoff_by_policy: bool = False
    """Whether every retry waited as its policy says; a handler may wish for something else."""
    retention: Retention | None = None
    """What was pruned by, if anything was."""
    fired_until: datetime | None = None
    """When something still fired schedules, by the store's time; None where that is not to be judged."""
    spoilt: frozenset[UUID] = frozenset()
    """The jobs whose rows the run itself has made wrong: they may be aside."""


class Clocks(Struct, frozen=True, gc=False):
    """CLOCK_MONOTONIC before and after the store was asked for its time."""

    before: float
    store: datetime
    after: float


class Sighting(Struct, frozen=True, gc=False):
    """A job as it was seen during the run, not before `at` by the store's clock."""

    at: datetime
    job: Job


class Stay(Struct, frozen=True, kw_only=True):
    """The life of one worker process. Times are CLOCK_MONOTONIC.

    `stop_at` is when it was sent SIGTERM, `forced` whether it was told twice, `killed` whether something of
    the run killed it, `held_up` from when to when the run kept it from its work (stopped it, cut its
    connections), `frozen` those of these times when its children stood still with it, and `starved` when the
    machine had no time for it.
    """

    worker: str
    pid: int
    started_at: float
    stop_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    killed: bool = False
    forced: bool = False
    held_up: list[tuple[float, float]] = []
    frozen: list[tuple[float, float]] = []
    starved: list[tuple[float, float]] = []


class Outage(Struct, frozen=True):
    """When the database was away, by CLOCK_MONOTONIC."""

    began: float
    ended: float


class Leftovers(Struct, frozen=True, kw_only=True):
    """What should have gone when all was over, in words for who has to look for it."""

    processes: list[str] = []
    leases: list[str] = []
    folders: list[str] = []
    descriptors: list[str] = []
    messages: list[str] = []


class Reply(Struct, frozen=True, kw_only=True):
    """What a server answered: to a key of which namespace (None: to one of none), and every word of it."""

    namespace: str | None
    asked: str
    status: int
    text: str


class Writing(Struct, frozen=True):
    """What a process wrote, or saw around it, where others may read it; and whose it is, in words."""

    name: str
    text: str


class Secret(Struct, frozen=True):
    """What was planted to see where it turns up; the name says where it was put."""

    name: str
    text: str


class Evidence(Struct, frozen=True, kw_only=True):
    """What there is to judge a run by. Events are by job and n, attempts by job and fence."""

    terms: Terms = Terms()
    now: datetime
    """The store's time when all was over."""
    jobs: list[Job]
    events: list[Event]
    attempts: list[Attempt]
    limits: list[LimitUse] = []
    lines: list[LineStatus] = []
    ledger: list[Entry] = []
    history: list[Call] = []
    clocks: list[Clocks] = []
    sightings: list[Sighting] = []
    stays: list[Stay] = []
    outages: list[Outage] = []
    leftovers: Leftovers = Leftovers()
    resources: dict[str, list[tuple[float, float]]] = {}
    """What was measured again and again, as (CLOCK_MONOTONIC, value): memory, descriptors, file sizes."""
    replies: list[Reply] = []
    marks: dict[str, str] = {}
    """By namespace, a word that stands in its jobs and in no others."""
    writings: list[Writing] = []
    secrets: list[Secret] = []
    passages: list[Passage] = []
    schedules: list[Schedule] = []
    ticks: list[TickOf] = []
    schedule_calls: list[ScheduleCall] = []
    hooks: list[Hook] = []
    received: list[Received] = []
    deliveries: list[Delivery] = []
    feed: list[FeedEntry] = []
    """Every event as it came by, where webhooks are judged: its job may be gone since."""
    progress: list[JobProgress] = []
    finished_steps: list[FinishedStep] = []
    deeds: list[Deed] = []
    """What steps of handlers did, and what their transactions wrote: whoever gathers adds them."""
    charges: list[Charge] = []


class Watch:
    """Looks at a store during a run: at its clock, and at every job that has moved since the last look."""

    def __init__(self, *, keeps_feed: bool = False) -> None:
        self.clocks: list[Clocks] = []
        self.feed: list[FeedEntry] = []
        self._keeps_feed = keeps_feed
        self.sightings: list[Sighting] = []
        self.finished_steps: list[FinishedStep] = []
        self._behind: Position | None = None

    async def look(self, store: Store) -> None:
        """See what has changed."""
        self.clocks.append(await read_clocks(store))
        at = self.clocks[-1].store
        touched: dict[UUID, None] = {}
        while entries := await store.feed(self._behind):
            self._behind = entries[-1].position
            if self._keeps_feed:
                self.feed += entries
            touched.update((entry.event.job, None) for entry in entries)
        seen = [job for job in await _each(touched, store.get) if job is not None]
        self.sightings += [Sighting(at, job) for job in seen]
        for finished in await _each(touched, lambda job: finished_steps(store, job)):
            self.finished_steps += finished


async def read_clocks(store: Store) -> Clocks:
    """The store's time, between two readings of our own clock."""
    before = monotonic()
    store_time = await store.now()
    return Clocks(before, store_time, monotonic())


async def gather(
    store: Store,
    terms: Terms,
    *,
    watch: Watch | None = None,
    ledger: Sequence[Entry] = (),
    history: Sequence[Call] = (),
    stays: Sequence[Stay] = (),
    outages: Sequence[Outage] = (),
    leftovers: Leftovers | None = None,
    resources: dict[str, list[tuple[float, float]]] | None = None,
    replies: Sequence[Reply] = (),
    marks: Mapping[str, str] | None = None,
    writings: Sequence[Writing] = (),
    secrets: Sequence[Secret] = (),
    passages: Sequence[Passage] = (),
    schedule_calls: Sequence[ScheduleCall] = (),
    hooks: Sequence[Hook] = (),
    received: Sequence[Received] = (),
) -> Evidence:
    """Read all that a store has, and put it beside what others saw."""
    watch = watch or Watch()
    clocks = await read_clocks(store)
    ids = await _ids(store)
    jobs = [job for job in await _each(ids, store.get) if job is not None]
    schedules = await _schedules(store)
    return Evidence(
        terms=terms,
        now=clocks.store,
        jobs=jobs,
        events=[event for of_job in await _each(ids, store.events) for event in of_job],
        attempts=[attempt for of_job in await _each(ids, store.attempts) for attempt in of_job],
        limits=await store.limits(),
        lines=await store.lines(),
        ledger=list(ledger),
        history=list(history),
        clocks=[*watch.clocks, clocks],
        sightings=list(watch.sightings),
        stays=list(stays),
        outages=list(outages),
        leftovers=leftovers or Leftovers(),
        resources=dict(resources or {}),
        replies=list(replies),
        marks=dict(marks or {}),
        writings=list(writings),
        secrets=list(secrets),
        passages=list(passages),
        schedules=schedules,
        ticks=[tick for schedule in schedules for tick in await _ticks(store, schedule.name)],
        schedule_calls=list(schedule_calls),
        hooks=list(hooks),
        received=list(received),
        deliveries=[one for hook in hooks for one in await _deliveries(store, hook.asked.id)],
        feed=list(watch.feed),
        progress=list(those_with_any(await _each(ids, lambda job: progress_of(store, job)))),
        finished_steps=list(watch.finished_steps),
    )


def save(evidence: Evidence, folder: Path) -> None:
    """Keep evidence in a folder, one file a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for field in msgspec.structs.fields(Evidence):
        body = msgspec.json.encode(getattr(evidence, field.name))
        (folder / f"{field.name}.json").write_bytes(msgspec.json.format(body, indent=1) + b"\n")


def load(folder: Path) -> Evidence:
    """Evidence as it was saved; a kind that has no file is empty."""
    kinds = {
        field.name: msgspec.json.decode(path.read_bytes(), type=field.type)
        for field in msgspec.structs.fields(Evidence)
        if (path := folder / f"{field.name}.json").exists()
    }
    return Evidence(**kinds)


async def _ids(store: Store) -> list[UUID]:
    ids: list[UUID] = []
    after: UUID | None = None
    while True:
        page = await store.page(Filter(), after=after, newest_first=False, limit=200)
        ids += [job.id for job in page.jobs]
        if (after := page.next) is None:
            return ids


async def _schedules(store: Store) -> list[Schedule]:
    """Every schedule; chaos writes none that cannot be read."""
    found: list[Schedule] = []
    after: ScheduleName | None = None
    while page := await store.schedules(after=after, limit=LARGEST_PAGE):
        found += [one for one in page if isinstance(one, Schedule)]
        after = page[-1].name
    return found


async def _ticks(store: Store, name: ScheduleName) -> list[TickOf]:
    """The ticks of a schedule, newest first."""
    found: list[TickOf] = []
    while page := await store.ticks(name, before=found[-1].tick.place if found else None, limit=LARGEST_PAGE):
        found += [TickOf(name, one.tick) for one in page]
    return found


async def _deliveries(store: Store, webhook: UUID) -> list[Delivery]:
    """The deliveries of a webhook, newest first."""
    found: list[Delivery] = []
    before = None
    while page := await store.deliveries(webhook, before=before, limit=LARGEST_PAGE):
        found += page
        before = page[-1].noted_at, page[-1].message
    return found


async def _each(questions: Iterable[UUID], ask: Callable[[UUID], Awaitable[T]]) -> list[T]:
    """The answers in the order of the questions, a few of which are put at a time."""
    room = asyncio.Semaphore(AT_ONCE)

    async def put(question: UUID) -> T:
        async with room:
            return await ask(question)

    return list(await asyncio.gather(*[put(question) for question in questions]))
