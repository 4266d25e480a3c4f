"""One run after webhooks: jobs run and are pruned, receivers misbehave, and what sends is killed."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

from msgspec import Struct

from chaos import checker, evidence
from chaos.checker import Violation
from chaos.crew import LONGEST_FREEZE, Crew
from chaos.evidence import Evidence, Terms, Watch
from chaos.ground import Kind, prepared
from chaos.webhooks.app import app
from chaos.webhooks.crew import SENDING
from chaos.webhooks.lives import happenings, hook_lives, hooks_in
from chaos.webhooks.operator import Operator
from chaos.webhooks.receivers import Receivers
from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import PruneScope, Retention
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.engine.client.registration import save_definitions
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store
from tests.storage.faults.own_server import OwnServer

LOOK_EVERY = 0.3
LEAST_REFUSED = 5
"""Receivers misbehave until so many requests were not taken."""

PRUNED = 3
"""Every so many jobs one is removed as soon as its second is over."""

KEPT = Retention(
    succeeded=timedelta(seconds=1), others=timedelta(seconds=1), keyed=timedelta(seconds=1), logs=None
)


class Setup(Struct, frozen=True, kw_only=True):
    """All that fixes a run."""

    seed: int
    store: Kind
    jobs: int = 2000
    seconds: float = 60.0
    processes: int = 4
    receivers: int = 3
    strike_every: float = 0.6
    act_every: float = 0.5
    patience: float = 90.0
    """Seconds within which something more is told, after the last harm, until all is."""


class Result(Struct, frozen=True, kw_only=True):
    """What came of a run."""

    setup: Setup
    took: float
    events: int
    owed: int
    """Messages that have to come: what was asked for, but for what was removed before or during a pause."""
    requests: int
    taken: int
    pruned: int
    strikes: dict[str, int]
    acts: dict[str, int]
    quiet: bool
    """Whether all was told: else nothing more came, although it was waited for."""
    violations: list[Violation]


class Stage:
    """What a run works with: its store, those that send, those that receive, and who watches."""

    def __init__(self, setup: Setup, store: Store, crew: Crew, receivers: Receivers, random: Random) -> None:
        self.setup = setup
        self.store = store
        self.crew = crew
        self.receivers = receivers
        self.random = random
        self.operator = Operator(store, receivers.ports, random)
        self.watch = Watch(keeps_feed=True)
        self.pruned = 0

    async def enqueue(self) -> None:
        """All jobs, over the time of the run."""
        pause = self.setup.seconds / self.setup.jobs / 2
        for number in range(self.setup.jobs):
            definition = self.random.choices(("beat", "fail", "wobble"), (6, 2, 2))[0]
            job = NewJob(
                definition=definition,
                queue=self.random.choice(("default", "mail")),
                tags=("red",) if self.random.random() < 0.3 else (),
                key=f"job-{number}",
                policy=Policy(max_attempts=1 if definition == "fail" else 20),
            )
            [made] = await self.store.enqueue([job])
            if self.random.random() < 0.05:
                await self.store.cancel([made.id])
            await asyncio.sleep(pause * self.random.uniform(0, 2))

    async def look(self) -> None:
        """See what has happened, and remove some of what has ended and was seen."""
        await self.watch.look(self.store)
        ended = {one.job.id for one in self.watch.sightings if one.job.state.is_final}
        chosen = sorted(job for job in ended if job.int % PRUNED == 0)
        async with self.operator.pausing:
            for start in range(0, len(chosen), 1000):
                scope = PruneScope(jobs=chosen[start : start + 1000])
                self.pruned += (await self.store.prune(KEPT, scope=scope)).jobs

    async def keep_looking(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY)

    @property
    def refused(self) -> int:
        """How many requests were not taken."""
        return sum(not one.was_taken for one in self.receivers.log.read())

    @property
    def told(self) -> int:
        """How many messages were taken."""
        return len({(one.hook, one.message) for one in self.receivers.log.read() if one.was_taken})

    async def is_over(self) -> bool:
        """Whether all jobs have ended, and all is told and on record as such."""
        await self.look()
        kept = await self._ended()
        if kept is None:
            return False
        happened = happenings(self.watch.feed, [sighting.job for sighting in self.watch.sightings])
        hooks = self.operator.hooks
        lives = hook_lives(hooks.values(), self.receivers.log.read(), happened, kept)
        if any(life.owed.keys() - life.taken for life in lives.values()):
            return False
        figures = await self.store.webhook_figures(list(hooks))
        return not any(one.waiting for one in figures.values())

    async def _ended(self) -> frozenset[UUID] | None:
        """The jobs that are there, if all have ended."""
        found: set[UUID] = set()
        after: UUID | None = None
        while True:
            page = await self.store.page(Filter(), after=after, limit=LARGEST_PAGE)
            if not all(job.state.is_final for job in page.jobs):
                return None
            found |= {job.id for job in page.jobs}
            if (after := page.next) is None:
                return frozenset(found)


async def run(setup: Setup, folder: Path, server: OwnServer | None = None) -> Result:
    """Run it in an empty folder, where the evidence is kept."""
    folder.mkdir(parents=True)
    began, random = time.monotonic(), Random(f"webhooks {setup.store} {setup.seed}")
    async with AsyncExitStack() as ends:
        ground = await ends.enter_async_context(prepared(setup.store, folder, server))
        store = await open_store(ground.direct)
        ends.push_async_callback(store.close)
        await save_definitions(store, app.specs(), "the run")
        receivers = Receivers(folder, setup.receivers, random)
        ends.push_async_callback(receivers.close)
        await receivers.open()
        crew = Crew(SENDING, ground, folder, setup.processes, random)
        ends.push_async_callback(crew.close)
        await crew.open()
        stage = Stage(setup, store, crew, receivers, random)
        await _play(stage, await store.now())
        is_over = await stage.is_over()
        await crew.close()
        await stage.watch.look(store)
        found = await evidence.gather(
            store,
            _terms(is_over=is_over),
            watch=stage.watch,
            hooks=list(stage.operator.hooks.values()),
            received=receivers.log.read(),
        )
    evidence.save(found, folder / "evidence")
    return _result(stage, found, time.monotonic() - began)


async def _play(stage: Stage, began: datetime) -> None:
    """Harm and changes while jobs come, then calm until everything is told."""
    setup, operator = stage.setup, stage.operator
    await operator.subscribe()
    looking = asyncio.create_task(stage.keep_looking())
    troubles = [
        asyncio.create_task(stage.crew.strike(setup.strike_every)),
        asyncio.create_task(stage.receivers.strike(3 * setup.strike_every)),
        asyncio.create_task(operator.act(setup.act_every, began)),
    ]
    load = asyncio.create_task(stage.enqueue())
    try:
        await asyncio.sleep(setup.seconds / 2)
        await operator.create("error", since=began)
        await operator.create("busy")
        await load
        with suppress(TimeoutError):
            async with asyncio.timeout(setup.patience):
                while stage.refused < LEAST_REFUSED:  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_EVERY)
        for task in (*troubles, looking):
            if task.done():
                task.result()
    finally:
        for task in (*troubles, load, looking):
            task.cancel()
        await asyncio.wait((*troubles, load, looking))
    await operator.wake()  # one may have been left paused
    stage.crew.calm()
    stage.receivers.calm()
    await stage.crew.all_steady()
    await _tell_the_rest(stage)


async def _tell_the_rest(stage: Stage) -> None:
    """Until all is told, or nothing more comes: what is missing then is seen by the checker."""
    told, last = 0, time.monotonic()
    while not await stage.is_over() and time.monotonic() - last < stage.setup.patience:
        if stage.told > told:
            told, last = stage.told, time.monotonic()
        await stage.operator.wake()
        await stage.operator.hurry()
        await asyncio.sleep(LOOK_EVERY)


def _terms(*, is_over: bool) -> Terms:
    patient = timedelta(seconds=60)
    return Terms(
        lease=timedelta(seconds=2),
        rescue=patient,
        stopping=patient,
        overlap=patient,
        resuming=patient,
        frozen=timedelta(seconds=LONGEST_FREEZE),
        quiet=is_over,
        retention=KEPT,
    )


def _result(stage: Stage, found: Evidence, took: float) -> Result:
    return Result(
        setup=stage.setup,
        took=took,
        events=len(found.feed),
        owed=sum(len(life.owed) for life in hooks_in(found).values()),
        requests=len(found.received),
        taken=sum(one.was_taken for one in found.received),
        pruned=stage.pruned,
        strikes=dict(stage.crew.strikes + stage.receivers.strikes),
        acts=dict(Counter(stage.operator.acts)),
        quiet=found.terms.quiet,
        violations=checker.check(found),
    )
