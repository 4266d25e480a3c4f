"""One run by its seed: load and faults for a while, then rest, then the checker's verdict."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chaos import charges, checker, deeds, evidence, history, ledger, load
from chaos.checker import Violation
from chaos.counters import counted
from chaos.evidence import Evidence, Leftovers, Terms
from chaos.faults import FAULTS
from chaos.faults.fault import Fault, Strike
from chaos.ground import Kind
from chaos.machine import Span
from chaos.recovery import Recovery, recoveries
from chaos.scene import Opened, Scene, left_over, passages_of, staged, writings
from chaos.shop import app
from chaos.staff import Hand, StaffConfig
from tenure.core.model.lanes import LANES
from tenure.engine.config import served_lines
from tests.storage.faults.own_server import OwnServer

ARMED = "api.enqueue.after=kill@6,api.answer=kill@23"
"""Where servers are killed beside at random: with a job on record of which nobody has heard."""

LEASING = "api.answer=kill@7*3"
"""Where that of workers in JavaScript is: with a job claimed or ended of which they have not heard."""

REST_SECONDS = 90.0
"""How long a run may take to come to rest; one that needs a tenth of it is slow."""


LONG_SECONDS = 10.0
"""From how long on a run waits for messages that workers had when they were killed."""


class Setup(Struct, frozen=True, kw_only=True):
    """All that fixes a run."""

    seed: int
    store: Kind
    faults: tuple[str, ...]
    seconds: float = 10.0
    calls: int = 120
    hostile: bool = False
    workers: int = 3
    foreign: int = 0
    """How many more workers there are in JavaScript, over HTTP."""
    slots: int = 4
    lease: float = 2.0
    rate: float = 1.0
    """How many times as often as usual faults strike."""
    aims: tuple[str, ...] = ()
    """The failpoints to aim at, again and again; empty for each of them now and then."""
    slack: float = 1.0
    """By how much longer than promised things may take, on a machine that has other things to do."""
    servers: int = 2
    """Through how many servers half of the calls go; with none, all of them go by the library."""
    messages: bool = False
    """Whether messages of a broker lead its workers to jobs; sweeps are an hour apart then."""

    @property
    def attacks(self) -> Mapping[str, float]:
        """The jobs that attack whoever runs them, by how often they come."""
        if not self.hostile:
            return {}
        return load.HOSTILE if {"kill", "step", "restart-reaping"} & {*self.faults} else load.INSIDIOUS

    @property
    def usual(self) -> Mapping[str, float]:
        """The harmless jobs. To those under limits no message leads, and sweeps are too far apart.

        Transactions of handlers are on PostgreSQL alone.
        """
        usual = load.BUSY if self.aims else load.USUAL
        absent = {"limited"} if self.messages else set()
        absent |= {"charge"} if self.store == "sqlite" else set()
        return {name: weight for name, weight in usual.items() if name not in absent}

    @property
    def due(self) -> tuple[str, ...]:
        """The faults of these that can happen to the store, or to servers if there are any."""
        idle = {"api": self.servers < 2, "leasing": not self.foreign, "broker": not self.messages}
        known = [name for name in self.faults if not idle.get(name)]
        return tuple(name for name in known if self.store in FAULTS[name].stores)

    @property
    def command(self) -> str:
        """What to type to run the same again."""
        words = [f"python -m chaos --seed {self.seed} --store {self.store} --faults {','.join(self.faults)}"]
        words += [f"--seconds {self.seconds:g} --calls {self.calls}"]
        words += [f"--workers {self.workers} --lease {self.lease:g} --rate {self.rate:g}"]
        words += [f"--aims {','.join(self.aims)}"] if self.aims else []
        words += ["--hostile"] if self.hostile else []
        words += ["--messages"] if self.messages else []
        words += [f"--servers {self.servers} --foreign {self.foreign}"]
        return " ".join(words)


class Result(Struct, frozen=True, kw_only=True):
    """What came of a run."""

    setup: Setup
    jobs: int
    took: float
    strikes: list[Strike]
    violations: list[Violation]
    counters: dict[str, int]
    recoveries: dict[str, list[Recovery]]
    quiet: bool
    tried: dict[str, int] = {}
    """How often somebody was armed with each failpoint."""

    @property
    def is_good(self) -> bool:
        """Whether it came to rest with every promise kept."""
        return self.quiet and not self.violations


async def run(setup: Setup, folder: Path, server: OwnServer | None = None) -> Result:
    """Run it in an empty folder, where the evidence is kept."""
    began = time.monotonic()
    config = StaffConfig(setup.workers, setup.foreign, setup.slots, setup.lease)
    opened = Opened(
        setup.servers,
        ARMED if "api" in setup.due else "",
        LEASING if "leasing" in setup.due else "",
        setup.messages,
    )
    async with staged(setup.store, folder, config, server, opened) as scene:
        scene.aims, scene.ends_at = setup.aims, time.monotonic() + setup.seconds
        strikes, is_quiet = await _play(setup, scene)
        pipes = await scene.pipes_left() if is_quiet else []
        is_long = setup.seconds >= LONG_SECONDS
        unread = await scene.broker.left(waits_for_hidden=is_long) if is_quiet and scene.broker else []
        await scene.staff.close()
        left = await left_over(scene, pipes, unread)
        found = await _gathered(setup, scene, strikes, left, is_quiet=is_quiet)
        counters = counted(found, scene)
    evidence.save(found, folder / "evidence")
    result = Result(
        setup=setup,
        jobs=len(found.jobs),
        took=time.monotonic() - began,
        strikes=strikes,
        violations=checker.check(found),
        counters=dict(counters),
        recoveries=recoveries(found, strikes),
        quiet=is_quiet,
        tried=dict(scene.tried),
    )
    (folder / "result.json").write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
    return result


def missed(results: Sequence[Result]) -> set[str]:
    """What runs like these owe and have not brought about, taken together: faults, and hard spots."""
    meant = {fault for result in results for fault in result.setup.due}
    struck = {strike.fault for result in results for strike in result.strikes}
    owed = {counter for fault in meant for counter in FAULTS[fault].counters} | {"grace"}
    return (meant - struck) | {owe for owe in owed if not any(one.counters[owe] for one in results)}


async def _play(setup: Setup, scene: Scene) -> tuple[list[Strike], bool]:
    """Load and faults together, then wait for rest."""
    asks = load.plan(
        setup.seed,
        seconds=setup.seconds,
        calls=setup.calls,
        usual=setup.usual,
        attacks=setup.attacks,
    )
    await scene.scrape()  # who offers it may be the first to go
    shares = load.divided(asks, len(scene.clients))
    following = asyncio.gather(
        *(client.follow(share) for client, share in zip(scene.clients, shares, strict=True))
    )
    watches = (scene.keep_watch(), scene.feel_the_machine(), scene.measure(), scene.listen(setup.seed))
    watching = {asyncio.create_task(watch) for watch in watches}
    try:
        strikes = await _strike(setup, scene)
        is_quiet = False
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                await following
                await _stop_the_last(setup.seed, scene)
                is_quiet = await scene.come_to_rest(REST_SECONDS)
                if scene.broker is not None:
                    is_quiet = await _see_a_reminder(setup.seed, scene) and is_quiet
                await scene.look_around()
        return strikes, is_quiet
    finally:
        running: set[asyncio.Future[Any]] = {following, *watching}
        for task in running:
            task.cancel()
        await asyncio.wait(running)


async def _stop_the_last(seed: int, scene: Scene) -> None:
    """When all is calm a job surely runs, is deaf by the time it is asked to stop, and has to be killed."""
    [job] = await scene.client.enqueue([load.last_to_stop(seed)])
    while all(entry.job != job for entry in ledger.read(scene.folder / "ledger", torn=True)):  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    await scene.client.cancel(job)


async def _see_a_reminder(seed: int, scene: Scene) -> bool:
    """Record jobs that no message names until workers name one; whether all have ended.

    A worker that has just begun may sweep instead, and find them: but no worker begins from now on.
    """
    number = 0
    while not any(hand.told("JobsReminded") for hand in scene.staff.hands):
        number += 1
        await scene.client.enqueue([load.unnamed(seed, number)])
        if not await scene.come_to_rest(REST_SECONDS):
            return False
    return True


async def _strike(setup: Setup, scene: Scene) -> list[Strike]:
    """Every fault at its times; one that comes while too many of its kind are at work is left out."""
    random = Random(f"faults {setup.seed}")
    loop = asyncio.get_running_loop()
    began = loop.time()
    acts: dict[str, list[asyncio.Future[list[Strike]]]] = {name: [] for name in setup.faults}
    for at, fault in schedule(setup, random):
        await asyncio.sleep(max(0.0, began + at - loop.time()))
        if sum(not act.done() for act in acts[fault.name]) < fault.at_once * max(1.0, setup.rate):
            acts[fault.name].append(asyncio.ensure_future(fault.act(scene, Random(random.random()))))
    done = await asyncio.gather(*(act for of_fault in acts.values() for act in of_fault))
    strikes = [strike for act in done for strike in act]
    return sorted(strikes, key=lambda strike: strike.began)


def schedule(setup: Setup, random: Random) -> list[tuple[float, Fault]]:
    """When each fault strikes, in seconds from the beginning."""
    times = []
    for fault in (FAULTS[name] for name in setup.due):
        every = fault.every / setup.rate
        at = random.uniform(0.2, every)
        while at < setup.seconds:
            times.append((at, fault))
            at += every * random.uniform(0.5, 1.5)
    return sorted(times, key=lambda pair: (pair[0], pair[1].name))


def held_up(setup: Setup, scene: Scene, strikes: Sequence[Strike], hand: Hand) -> list[Span]:
    """When the run kept a worker from its work: by a fault of its own, or by one that others share.

    What was asked for meanwhile is answered late, and a lease counts from the question: so one lease longer.
    """
    spans = [
        (strike.began, strike.ended)
        for strike in strikes
        if FAULTS[strike.fault].holds_up == "all"
        # Who stands still in the middle of a write has the file's only lock.
        or (
            FAULTS[strike.fault].holds_up == "one" and (strike.worker == hand.name or setup.store == "sqlite")
        )
    ]
    if hand.is_foreign and scene.staff.foreign is not None:
        spans += scene.staff.foreign.doors.absences()
    return [(began, ended + setup.lease) for began, ended in spans]


def frozen(strikes: Sequence[Strike], hand: Hand) -> list[Span]:
    """When a worker stood still together with its attempts: some of them are part of it."""
    faults = {"freeze", "pause"} if hand.is_foreign else {"freeze"}
    return [
        (strike.began, strike.ended)
        for strike in strikes
        if strike.fault in faults and strike.worker == hand.name
    ]


async def _gathered(
    setup: Setup, scene: Scene, strikes: list[Strike], leftovers: Leftovers, *, is_quiet: bool
) -> Evidence:
    terms = Terms(
        lease=timedelta(seconds=setup.lease),
        heartbeat=timedelta(seconds=setup.lease / 3),
        poll=timedelta(seconds=setup.slack),
        rescue=timedelta(seconds=setup.slack),
        overlap=timedelta(seconds=setup.slack),
        stopping=timedelta(seconds=2 * setup.slack),
        resuming=timedelta(seconds=2 * setup.slack),
        quiet=is_quiet,
        served=frozenset(served_lines(app.specs())),
        slots=setup.slots,
        shares={spec.key: LANES[spec.lane].slot_group for spec in app.specs()},
        effects=frozenset(spec.key for spec in app.specs()),
        backoff_by_policy=True,
    )
    gathered = await evidence.gather(
        scene.store,
        terms,
        watch=scene.watch,
        ledger=ledger.read(scene.folder / "ledger", torn=True),
        history=[call for path in sorted(scene.folder.glob("history*")) for call in history.read(path)],
        stays=[
            stay
            for hand in scene.staff.hands
            if (
                stay := hand.stay(
                    held_up(setup, scene, strikes, hand),
                    frozen(strikes, hand),
                    scene.machine.starved(hand.pid),
                )
            )
        ],
        outages=scene.outages,
        leftovers=leftovers,
        resources=scene.measures.series,
        replies=scene.replies,
        marks={tenant.namespace: tenant.mark for tenant in scene.tenants if tenant.namespace},
        writings=writings(scene.folder),
        secrets=scene.secrets,
        passages=passages_of(scene.folder),
    )
    done = deeds.read(scene.folder / "ledger")
    return replace(gathered, deeds=done, charges=await charges.read(scene.ground.direct))
