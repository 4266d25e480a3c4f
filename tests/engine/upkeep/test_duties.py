"""How long a worker that does the clock's work rests, when others do it too."""

from typing import Any
from uuid import uuid4

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.reports.access import AUDIT_KEPT, AuditEntry
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep import duties
from tenure.engine.upkeep.duties import Duties, ignore_outlook
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded
from tests.worker.interfering_store import InterferingStore

LINES = (Line("default", "mail"),)


def duties_of(store: Store) -> Duties:
    async def owe() -> None: ...

    return Duties(
        store,
        WorkerConfig(worker="a", lines=LINES, slots=1),
        on_signal=lambda _: None,
        on_arrival=lambda: None,
        on_owed_hooks=owe,
        on_outlook=ignore_outlook,
        has_hints=lambda: False,
    )


async def test_a_timer_that_somebody_else_has_taken_delays_no_rescue(store: Store, clock: Clock) -> None:
    """Whoever comes too late for one thing is there in time for the next."""
    await enqueue_one(store)
    await store.settle_and_claim([], Order(worker="b", lines=LINES, limit=1, lease_for=seconds(2)))
    await store.enqueue([NewJob(definition="mail", delay=seconds(1))])
    await clock.advance(seconds(1.7))
    interfering = InterferingStore(store)

    def taken_by_another(_: Any) -> Any:
        async def none(_limit: int) -> list[Any]:
            return []

        return none

    interfering.interferences["promote"] = taken_by_another
    assert 0 < await duties_of(interfering.store).look() <= 0.3


async def test_a_lease_that_nobody_needs_any_more_delays_no_rescue(store: Store, clock: Clock) -> None:
    """A lease outlives the jobs that were settled under it; it runs out without harm."""
    await enqueue_one(store)
    [settled] = await claim(store, "b", lease_for=seconds(2))
    await settle(store, [succeeded(settled)], "b")
    await clock.advance(seconds(0.3))
    await enqueue_one(store)
    await claim(store, "b", lease_for=seconds(2))
    await clock.advance(seconds(1.7))
    assert 0 < await duties_of(store).look() <= 0.3


async def test_with_nothing_to_come_it_looks_again_after_a_poll(store: Store) -> None:
    assert 0.3 < await duties_of(store).look() <= 1.0


async def test_what_somebody_has_locked_is_looked_at_again_soon(store: Store, clock: Clock) -> None:
    """Who takes jobs back may be stopped or killed over it: the others need not wait for a whole poll."""
    await enqueue_one(store)
    await claim(store, "b", lease_for=seconds(2))
    await clock.advance(seconds(2))
    interfering = InterferingStore(store)

    def locked_by_another(_: Any) -> Any:
        async def none(_limit: int) -> list[Any]:
            return []

        return none

    interfering.interferences["reap"] = locked_by_another
    assert 0 < await duties_of(interfering.store).look() <= 0.2


async def test_what_was_done_over_a_year_ago_is_removed(store: Store, clock: Clock, monkeypatch: Any) -> None:
    monkeypatch.setattr(duties, "PRUNE_EVERY", 0.0)
    await store.begin_audit_entry(AuditEntry(who="ann", action="old", target="", request=uuid4()))
    await clock.advance(AUDIT_KEPT + seconds(1))
    await store.begin_audit_entry(AuditEntry(who="ann", action="new", target="", request=uuid4()))
    await duties_of(store).tidy()
    assert [one.entry.action for one in await store.audit_entries()] == ["new"]
