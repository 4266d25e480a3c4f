"""One run after schedules: they fire by the second while what fires them is harmed and they are changed."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from msgspec import Struct

from chaos import checker, evidence
from chaos.casebook import Casebook
from chaos.checker import Violation
from chaos.crew import LONGEST_FREEZE, Crew
from chaos.evidence import Evidence, Terms
from chaos.ground import Kind, prepared
from chaos.schedules.app import app
from chaos.schedules.calls import ScheduleCall
from chaos.schedules.client import ScheduleClient
from chaos.schedules.crew import FIRING
from chaos.schedules.load import Changes, schedules
from tenure.core.schedule.schedule import TickOutcome
from tenure.engine.client.registration import save_definitions
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store
from tests.storage.faults.own_server import OwnServer

CALM = 5.0
"""Seconds after the last harm within which whatever was missed has been noted."""

LOOK_EVERY = 1.0


class Setup(Struct, frozen=True, kw_only=True):
    """All that fixes a run."""

    seed: int
    store: Kind
    schedules: int = 200
    seconds: float = 60.0
    ticks: int = 0
    """It goes on until there are so many jobs, each of a tick."""
    processes: int = 5
    strike_every: float = 0.4
    change_every: float = 0.04
    slack: float = 30.0
    """Seconds for which a schedule may be due in the end, on a machine that has other things to do."""


class Result(Struct, frozen=True, kw_only=True):
    """What came of a run."""

    setup: Setup
    took: float
    outcomes: dict[str, int]
    """Ticks on record by outcome, those of a gap each."""
    jobs: int
    by_rule: int
    """Schedules whose ticks were held against their rules, from their first to their last."""
    strikes: dict[str, int]
    calls: dict[str, int]
    violations: list[Violation]

    @property
    def fired(self) -> int:
        """How many ticks fired."""
        return self.outcomes.get(TickOutcome.FIRED, 0)


async def run(setup: Setup, folder: Path, server: OwnServer | None = None) -> Result:
    """Run it in an empty folder, where the evidence is kept."""
    folder.mkdir(parents=True)
    began, random = time.monotonic(), Random(f"schedules {setup.store} {setup.seed}")
    async with AsyncExitStack() as ends:
        ground = await ends.enter_async_context(prepared(setup.store, folder, server))
        store = await open_store(ground.direct)
        ends.push_async_callback(store.close)
        await save_definitions(store, app.specs(), "the run")
        crew = Crew(FIRING, ground, folder, setup.processes, random)
        ends.push_async_callback(crew.close)
        await crew.open()
        client = ScheduleClient(store)
        watch = evidence.Watch()
        await _play(setup, store, crew, client, watch)
        until = await store.now()
        await crew.close()
        found = await evidence.gather(store, _terms(setup, until), watch=watch, schedule_calls=client.calls)
    evidence.save(found, folder / "evidence")
    return _result(setup, found, crew, client, time.monotonic() - began)


async def _play(
    setup: Setup, store: Store, crew: Crew, client: ScheduleClient, watch: evidence.Watch
) -> None:
    """Harm and changes for a while, then calm."""
    asked = schedules(setup.schedules, setup.seed)
    for new in asked:
        await client.create(new)
    changes = Changes(client, asked, Random(f"changes {setup.seed}"))
    troubles = [
        asyncio.create_task(crew.strike(setup.strike_every)),
        asyncio.create_task(changes.make(setup.change_every)),
        asyncio.create_task(_read_clocks(store, watch)),
    ]
    ends_at = time.monotonic() + setup.seconds
    try:
        while time.monotonic() < ends_at or await _fired(store, setup.ticks) < setup.ticks:
            await asyncio.sleep(LOOK_EVERY)
            for task in troubles:
                if task.done():
                    task.result()
    finally:
        for task in troubles:
            task.cancel()
        await asyncio.wait(troubles)
    await changes.end()
    crew.calm()
    await crew.all_steady()
    await asyncio.sleep(CALM)


async def _read_clocks(store: Store, watch: evidence.Watch) -> None:
    while True:
        watch.clocks.append(await evidence.read_clocks(store))
        await asyncio.sleep(LOOK_EVERY)


async def _fired(store: Store, wanted: int) -> int:
    """How many jobs there are, if that is asked for: each was made by a tick."""
    if not wanted:
        return 0
    return sum(sum(line.counts.values()) for line in await store.lines())


def _terms(setup: Setup, until: datetime) -> Terms:
    patient = timedelta(seconds=60)
    return Terms(
        lease=timedelta(seconds=2),
        rescue=patient,
        stopping=patient,
        overlap=patient,
        resuming=timedelta(seconds=setup.slack),
        frozen=timedelta(seconds=LONGEST_FREEZE),
        quiet=False,
        fired_until=until,
    )


def _result(setup: Setup, found: Evidence, crew: Crew, client: ScheduleClient, took: float) -> Result:
    outcomes: Counter[str] = Counter()
    for one in found.ticks:
        outcomes[one.tick.outcome] += one.tick.count
    lives = Casebook(found).schedules.values()
    return Result(
        setup=setup,
        took=took,
        outcomes=dict(outcomes),
        jobs=len(found.jobs),
        by_rule=sum(bool(life.spans) for life in lives),
        strikes=dict(crew.strikes),
        calls=dict(Counter(map(_named, client.calls))),
        violations=checker.check(found),
    )


def _named(call: ScheduleCall) -> str:
    return call.verb if call.outcome == "acknowledged" else f"{call.verb} {call.outcome}"
