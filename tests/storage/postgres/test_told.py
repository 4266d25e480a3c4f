"""Hints that say where jobs were put in line: an idle worker claims there without looking first."""

from collections.abc import AsyncIterator

import pytest

from tenure.core.lease import Line
from tenure.core.limit import Limit
from tenure.storage.contract import Wakeups
from tenure.storage.postgres import places
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.told import MOST, Told, read, written
from tests.storage.backends import PostgresBackend
from tests.storage.contract.test_listen import fall_asleep, woken
from tests.storage.postgres.test_round_trips import listen
from tests.storage.telling import MAIL, claim, enqueue_one, settle, succeeded

POST = Line("default", "post")
LINES = (MAIL, POST)


class Idle:
    """A worker that has run one job of each line, hears hints, and has seen that there is no more."""

    def __init__(self, store: PostgresStore, wakeups: Wakeups) -> None:
        self.store = store
        self.wakeups = wakeups

    async def settle_down(self) -> None:
        await fall_asleep(self.wakeups)
        assert await claim(self.store, lines=LINES) == []

    async def told(self) -> list[str]:
        """What it claims, by definition, once there was a hint."""
        assert await woken(self.wakeups)
        return [owned.definition for owned in await claim(self.store, lines=LINES)]


@pytest.fixture
async def idle(backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Idle]:
    monkeypatch.setattr(places, "WORTH", 0)  # however slow the machine, a look is no long one
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    async with store.listen() as wakeups:
        for definition in ("mail", "post"):
            await enqueue_one(store, definition)
        await settle(store, [succeeded(one) for one in await claim(store, lines=LINES)])
        worker = Idle(store, wakeups)
        await worker.settle_down()
        yield worker
    await store.close()


def test_a_hint_names_a_few_places_or_none() -> None:
    """The first to serve first; who is told of somewhere, or of too many places, is told of none."""
    told = Told()
    told.add([(7, 3), (12, -5)])
    told.add([(7, 3)])
    assert (taken := told.take()) == [(12, -5), (7, 3)]
    assert read(written(taken)) == taken
    assert told.take() == []
    for vague in ([], [(line, 0) for line in range(MOST + 1)]):
        told.add([(7, 3)])
        told.add(vague)
        told.add([(8, 3)])
        assert told.take() == []
    assert [read(text) for text in ("", "7", "7/", "a/0", "7/0 ", "7/0;x", "٧/0")] == [[]] * 7


@pytest.mark.parametrize(("definition", "priority"), [("mail", 0), ("post", 0), ("mail", 5)])
async def test_a_job_that_comes_to_an_idle_worker_is_claimed_in_one_statement(
    idle: Idle, store: PostgresStore, definition: str, priority: int
) -> None:
    ear = await listen(idle.store)
    await enqueue_one(store, definition, priority=priority)
    assert await idle.told() == [definition]
    assert await ear.count() == 1


async def test_a_job_of_its_own_process_is_claimed_without_a_look(idle: Idle) -> None:
    ear = await listen(idle.store)
    await enqueue_one(idle.store)
    assert await idle.told() == ["mail"]
    assert not any("RECURSIVE" in text for text in await ear.heard())


@pytest.mark.parametrize("paused", [MAIL, "default"])
async def test_nothing_is_claimed_from_a_line_that_was_paused_meanwhile(
    idle: Idle, store: PostgresStore, paused: Line | str
) -> None:
    """Neither by a pause of the line nor by one of its queue."""
    await store.pause(paused)
    await idle.settle_down()
    await enqueue_one(store)
    assert await idle.told() == []
    await store.resume(paused)
    assert await idle.told() == ["mail"]


async def test_a_number_that_stands_for_another_line_by_now_is_not_trusted(
    idle: Idle, store: PostgresStore, backend: PostgresBackend
) -> None:
    """The database was made anew: what is claimed is what stands there, whatever it was before."""
    await backend.sql("UPDATE tenure.line SET queue = 'parked' WHERE definition = 'mail'")
    await backend.sql("UPDATE tenure.line SET definition = 'mail' WHERE definition = 'post'")
    store = backend.store()
    await store.open()
    await enqueue_one(store)
    assert await idle.told() == ["mail"]
    await store.close()


async def test_jobs_under_limits_are_looked_for(idle: Idle, store: PostgresStore) -> None:
    """No more begin than their limit allows."""
    for _ in range(2):
        await enqueue_one(store, limits=(Limit("api", size=1),))
    assert await idle.told() == ["mail"]
    assert await claim(idle.store, lines=LINES) == []


async def test_who_was_not_told_of_a_job_finds_it_at_the_next_claim(
    idle: Idle, store: PostgresStore, backend: PostgresBackend
) -> None:
    """Its hint was lost, and another one leads elsewhere."""
    silent = PostgresStore(backend.dsn, notify=False)
    await silent.open()
    await enqueue_one(silent, "post")
    await silent.close()
    await enqueue_one(store)
    assert await idle.told() == ["mail"]
    assert [owned.definition for owned in await claim(idle.store, lines=LINES)] == ["post"]
