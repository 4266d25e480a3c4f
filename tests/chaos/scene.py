"""A small run that keeps every promise, told on a real store by a clock that is moved by hand.

Two workers: `a` dies with two jobs on its hands, `b` takes over and is asked to stop. CLOCK_MONOTONIC is the
hand's clock too, counted in seconds from its start, so that ledger and history fit the record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from msgspec.structs import replace

from chaos.deeds import Deed
from chaos.evidence import Clocks, Evidence, Sighting, Stay, Terms, Watch, gather
from chaos.history import Call, Outcome, Verb
from chaos.ledger import Entry, Kind
from chaos.schedules.calls import ScheduleCall
from chaos.webhooks.told import Hook, Received
from tenure.core.errors import StoreRefused, StoreUnavailable
from tenure.core.model.durable import Signal
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, note, recoverable, seconds, settle, stopped, succeeded, trail

LEASE = timedelta(seconds=30)
WIRE = Line("default", "wire")
API = Limit("api", size=2)
TERMS = Terms(
    lease=LEASE, rescue=seconds(5), served=frozenset({MAIL}), effects=frozenset({"mail"}), quiet=False
)

ASKED = {
    "good": NewJob(definition="mail", key="good", limits=(API,)),
    "retried": NewJob(definition="mail", key="retried", limits=(API,)),
    "rescued": NewJob(definition="mail", key="rescued"),
    "poison": NewJob(definition="mail", key="poison", policy=Policy(max_attempts=1)),
    "stopped": NewJob(definition="mail", key="stopped"),
    "given up": NewJob(definition="mail", key="given up"),
    "dropped": NewJob(definition="mail", key="dropped"),
    "delayed": NewJob(definition="mail", key="delayed", delay=seconds(20)),
    "moved": NewJob(definition="mail", key="moved", delay=seconds(3600)),
    "unserved": NewJob(definition="wire", key="unserved"),
}
BATCH = {
    "twin": NewJob(definition="mail", key="twin"),
    "other twin": NewJob(definition="mail", key="other twin"),
}


@dataclass
class Scene:
    """What a run needs beside its store: a client, test jobs and an observer."""

    store: Store
    clock: Clock
    jobs: dict[str, UUID] = field(default_factory=dict)
    ledger: list[Entry] = field(default_factory=list)
    history: list[Call] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    schedule_calls: list[ScheduleCall] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)

    @property
    def now(self) -> float:
        """CLOCK_MONOTONIC, as everybody in this run reads it."""
        return (self.clock.now - START).total_seconds()

    async def wait(self, count: float) -> None:
        """Let time pass, and look what has happened."""
        await self.watch.look(self.store)
        await self.clock.advance(seconds(count))

    async def see(self, name: str) -> None:
        """Look at one job, whether it has moved or not."""
        job = await self.store.get(self.jobs[name])
        assert job is not None
        self.watch.sightings.append(Sighting(self.clock.now, job))

    async def enqueue(self, asked: dict[str, NewJob], *, batch: bool = False) -> None:
        """Ask for jobs, in one call each or in one for all."""
        for names in [list(asked)] if batch else [[name] for name in asked]:
            keys = [asked[name].key or "" for name in names]
            try:
                made = [one.id for one in await self.store.enqueue([asked[name] for name in names])]
            except StoreRefused:
                self._called("enqueue", keys=keys, batch=batch, outcome="refused")
            except StoreUnavailable:
                self._called("enqueue", keys=keys, batch=batch)
            else:
                self.jobs.update(zip(names, made, strict=True))
                self._called("enqueue", keys=keys, jobs=made, batch=batch, outcome="acknowledged")

    async def cancel(self, *names: str) -> None:
        """Ask for jobs to be stopped, in one call."""
        ids = [self.jobs[name] for name in names]
        standings = await self.store.cancel(ids)
        moved = [one.job for one in standings if one.moved]
        self._called("cancel", asked=ids, jobs=ids, moved=moved, outcome="acknowledged")

    async def replay(self, name: str, again: str) -> None:
        """Ask for a job to be run again."""
        [answer] = await self.store.replay([self.jobs[name]])
        assert answer.replay is not None
        self.jobs[again] = answer.replay
        self._called("replay", asked=[self.jobs[name]], jobs=[answer.replay], outcome="acknowledged")

    async def claim(self, worker: str, *names: str) -> dict[str, Claimed]:
        """Claim exactly these jobs, which are next in line."""
        found = {one.lease.job: one for one in await claim(self.store, worker, len(names), lease_for=LEASE)}
        return {name: found[self.jobs[name]] for name in names}

    def wrote(self, claimed: Claimed, *kinds: Kind) -> None:
        """Let a handler write lines into the ledger."""
        lease = claimed.lease
        self.ledger += [
            Entry(kind, lease.job, claimed.attempt, lease.fence, 1000 + lease.fence, self.now)
            for kind in kinds
        ]

    def did(self, claimed: Claimed, step: str) -> None:
        """Let a step of a handler have its effect."""
        self.deeds.append(Deed(claimed.lease.job, step, claimed.lease.fence))

    async def tell(self, name: str, signal: Signal) -> None:
        """Send a job a signal, and hear of it."""
        told = await self.store.signal(self.jobs[name], signal)
        assert told is not None
        ids = [self.jobs[name]]
        self._called("signal", asked=ids, moved=ids, outcome="acknowledged")

    async def succeed(self, worker: str, *claimed: Claimed) -> None:
        """Let attempts do their work, and settle them."""
        for one in claimed:
            self.wrote(one, "start", "effect", "end")
        await settle(self.store, [succeeded(one) for one in claimed], worker)

    async def evidence(self, terms: Terms = TERMS, stays: Sequence[Stay] = ()) -> Evidence:
        """All there is to judge the run by."""
        gathered = await gather(
            self.store,
            terms,
            watch=self.watch,
            ledger=self.ledger,
            history=self.history,
            stays=stays,
            schedule_calls=self.schedule_calls,
            hooks=self.hooks,
            received=self.received,
        )
        return replace(gathered, clocks=[Clocks(0.0, START, 0.0)], deeds=self.deeds)

    def _called(
        self,
        verb: Verb,
        *,
        keys: Sequence[str] = (),
        asked: Sequence[UUID] = (),
        jobs: Sequence[UUID] = (),
        moved: Sequence[UUID] | None = None,
        batch: bool = False,
        outcome: Outcome = "unknown",
    ) -> None:
        self.history.append(
            Call(
                number=len(self.history) + 1,
                verb=verb,
                keys=list(keys),
                asked=list(asked),
                batch=batch,
                sent_at=self.now,
                outcome=outcome,
                jobs=list(jobs),
                moved=list(jobs if moved is None else moved),
                answered_at=self.now if jobs else None,
            )
        )


async def play(scene: Scene) -> Evidence:
    """The whole run."""
    store = scene.store
    await scene.enqueue(ASKED)
    await scene.enqueue(BATCH, batch=True)
    await scene.cancel("dropped")
    await scene.wait(1)
    held = await scene.claim("a", "good", "retried")
    await scene.wait(0.5)
    [child] = await store.spawn("a", held["good"].lease, [NewJob(definition="wire")]) or []
    scene.jobs["child"] = child.id
    await store.record("a", [trail(held["good"], note("begun"))])
    await scene.succeed("a", held["good"])
    await settle(store, [recoverable(held["retried"], seconds(5))])
    held = await scene.claim("a", "rescued", "poison", "stopped", "given up")
    await scene.cancel("stopped")
    await settle(store, [recoverable(held["given up"], seconds(50))])
    await scene.wait(5)
    scene.wrote(held["stopped"], "start")
    await settle(store, [stopped(held["stopped"])])
    await scene.cancel("given up")
    await store.reschedule([scene.jobs["moved"]], delay=seconds(2))
    await scene.wait(25)
    await store.promote(10)
    await store.reap(10)
    await scene.wait(1)
    held = await scene.claim("b", "twin", "other twin", "retried", "moved", "delayed", "rescued")
    await scene.succeed("b", *held.values())
    await scene.replay("poison", "again")
    await scene.enqueue({"busy": NewJob(definition="mail", key="busy")})
    await scene.wait(5)
    await scene.succeed("b", (await scene.claim("b", "again"))["again"])
    await scene.claim("b", "busy")
    await scene.wait(1)
    stays = [
        Stay(worker="a", pid=1, started_at=0.0, ended_at=6.5, exit_code=-9, killed=True),
        Stay(worker="b", pid=2, started_at=0.5, stop_at=37.5, ended_at=38.5, exit_code=0),
    ]
    return await scene.evidence(stays=stays)
