"""A worker without leases is seen by its looks at the outlook, and its heartbeats rest meanwhile."""

from typing import Any

from tenure.core.model.lease import Line
from tenure.core.reports.operations import WorkerInfo
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep.duties import Duties, ignore_outlook
from tenure.engine.worker.heartbeat import Heartbeat
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.worker.interfering_store import InterferingStore

LINES = (Line("default", "mail"),)
CONFIG = WorkerConfig(worker="a", lines=LINES, slots=1)


class Watched:
    """A worker's heartbeat and duties on a store, and what they ask of it."""

    def __init__(self, store: Store) -> None:
        self.asked: list[str] = []
        self.drains: list[str] = []
        interfering = InterferingStore(store)
        for verb in ("heartbeat", "outlook", "tidy"):
            interfering.interferences[verb] = self._counted(verb)
        self.heartbeat = Heartbeat(
            interfering.store,
            [],
            CONFIG,
            is_ready=lambda: True,
            on_drain=lambda: self.drains.append("now"),
            on_signal=lambda _: None,
        )
        self.duties = Duties(
            interfering.store,
            CONFIG,
            has_hints=lambda: True,
            on_signal=lambda _: None,
            on_arrival=lambda: None,
            on_owed_hooks=self._owe,
            on_outlook=ignore_outlook,
            present=self.heartbeat.present,
            on_seen=self.heartbeat.on_seen,
        )

    async def look_anew(self) -> None:
        """Look, though it is not time yet by this machine's clock."""
        self.duties._look_at = 0.0
        await self.duties.look()

    async def _owe(self) -> None: ...

    def _counted(self, verb: str) -> Any:
        def counted(call: Any) -> Any:
            self.asked.append(verb)
            return call

        return counted


async def enlisted(store: Store) -> Watched:
    await store.enlist(WorkerInfo(id="a", host="here", pid=7, version="1", slots=1, lines=LINES))
    return Watched(store)


async def test_a_look_stands_for_the_heartbeat_of_a_worker_that_holds_nothing(
    store: Store, clock: Clock
) -> None:
    """Only after a heartbeat of its own that held nothing either, which leaves no lease behind."""
    watched = await enlisted(store)
    assert watched.heartbeat.present() is None
    await watched.heartbeat.beat()
    assert watched.heartbeat.present() is not None
    assert watched.asked == ["heartbeat"]
    now = await clock.advance(seconds(10))
    await watched.look_anew()
    rest = await watched.heartbeat.beat()
    assert watched.asked == ["heartbeat", "outlook"]
    assert CONFIG.heartbeat_seconds < rest <= 1.1 * CONFIG.heartbeat_seconds
    [seen] = await store.workers()
    assert seen.seen_at == now


async def test_news_for_a_worker_is_asked_for_at_once(store: Store) -> None:
    watched = await enlisted(store)
    await watched.heartbeat.beat()
    await watched.duties.look()
    watched.heartbeat.hurry()
    await watched.heartbeat.beat()
    assert watched.asked == ["heartbeat", "outlook", "heartbeat"]


async def test_a_worker_is_told_to_drain_by_a_look(store: Store) -> None:
    watched = await enlisted(store)
    await watched.heartbeat.beat()
    await store.drain("a")
    await watched.duties.look()
    assert watched.drains
    assert watched.asked == ["heartbeat", "outlook"]


async def test_totals_are_folded_by_a_worker_that_has_heard_of_something(
    store: Store, monkeypatch: Any
) -> None:
    """One that holds nothing and hears nothing leaves it to others for ten minutes."""
    monkeypatch.setattr("tenure.engine.upkeep.duties.TIDY_EVERY", 0.0)
    watched = await enlisted(store)
    await watched.heartbeat.beat()
    await watched.duties.tidy()
    assert watched.asked.count("tidy") == 1
    await watched.duties.look()
    await watched.duties.tidy()
    assert watched.asked.count("tidy") == 1
    watched.duties.look_sooner()
    await watched.duties.tidy()
    assert watched.asked.count("tidy") == 2
