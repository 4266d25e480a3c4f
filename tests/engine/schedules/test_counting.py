"""Bounds: how many runs are left, and how many jobs there may be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.schedule import Overlap, ScheduleName
from tests.engine.schedules.test_firer import NAME, Node, asked, node
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import claim, seconds

__all__ = ["node"]


async def test_a_bound_on_a_queue_is_kept_within_one_batch_of_firings(node: Node, clock: Clock) -> None:
    """Five schedules and a backlog of three ticks: what finds no room says so."""
    for n in range(4):
        await node.schedules.create(asked(name=f"s{n}"))
    await node.schedules.create(asked(name="s4", missed=Missed.ALL))
    await clock.advance(seconds(60))
    bounded = Node(node.store, of_queue=3)
    await bounded.fire()
    outcomes = [await node.outcomes(ScheduleName("default", f"s{n}")) for n in range(5)]
    assert sorted(outcomes) == [["fired"]] * 3 + [["full"]] * 2
    await bounded.fire()
    assert len(await claim(node.store, limit=10)) == 3


async def test_a_tick_on_record_is_no_run_and_ends_nothing(node: Node, clock: Clock) -> None:
    """S4.29: a rule that is edited back meets a tick that has fired: the last run is still to come."""
    created = await node.schedules.create(asked(remaining=2))
    await clock.advance(seconds(60))
    await node.fire()
    moved = await node.schedules.get(NAME)
    again = await node.store.change_schedule(moved, created.asked, next_at=created.next_at)
    assert again is not None
    assert again.next_at == created.next_at
    await node.fire()
    known = await node.schedules.get(NAME)
    assert (known.remaining, await node.outcomes()) == (1, ["fired"])
    assert known.next_at is not None
    await clock.advance(seconds(60))
    await node.fire()
    over = await node.schedules.get(NAME)
    assert (over.remaining, over.next_at, await node.outcomes()) == (0, None, ["fired"] * 2)


async def test_of_several_due_ticks_as_many_fire_as_runs_are_left(node: Node, clock: Clock) -> None:
    """S4.29: the first one was on record; the one after it is due still, and is the last run."""
    created = await node.schedules.create(asked(remaining=3, missed=Missed.ALL))
    await clock.advance(seconds(60))
    await node.fire()
    moved = await node.schedules.get(NAME)
    await node.store.change_schedule(
        moved, replace(created.asked, remaining=1), next_at=created.next_at, recounts=True
    )
    await clock.advance(seconds(60 * 3))
    await node.fire()
    known = await node.schedules.get(NAME)
    assert (known.remaining, known.next_at, await node.outcomes()) == (0, None, ["fired"] * 2)


async def test_a_last_run_that_the_database_refuses_ends_no_schedule(
    node: Node, clock: Clock, backend: Backend
) -> None:
    """S4.29: no job was made, so that the run is still to come."""
    await node.schedules.create(asked(remaining=1, overlap=Overlap.SKIP))
    await node.schedules.create(asked(name="fine"))
    async with refused_jobs_of(backend, "often"):
        await clock.advance(seconds(60))
        await node.fire()
    assert await node.outcomes() == ["failed"]
    assert await node.outcomes(ScheduleName("default", "fine")) == ["fired"]
    known = await node.schedules.get(NAME)
    assert known.remaining == 1
    assert known.next_at is not None


@asynccontextmanager
async def refused_jobs_of(backend: Backend, name: str) -> AsyncIterator[None]:
    """Let the database refuse jobs that a schedule makes, as a guard of a database's owner may."""
    if backend.kind == "sqlite":
        await backend.sql(
            f"CREATE TRIGGER refused BEFORE INSERT ON tenure_job WHEN new.creator = 'schedule:{name}' "
            "BEGIN SELECT raise(ABORT, 'refused'); END"
        )
        yield
        return
    await backend.sql(
        "CREATE FUNCTION tenure.refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING MESSAGE = 'refused', ERRCODE = 'check_violation'; END $$"
    )
    await backend.sql(
        "CREATE TRIGGER refused BEFORE INSERT ON tenure.job FOR EACH ROW "
        f"WHEN (new.creator = 'schedule:{name}') EXECUTE FUNCTION tenure.refused()"
    )
    try:
        yield
    finally:
        await backend.sql("DROP FUNCTION tenure.refused() CASCADE")
