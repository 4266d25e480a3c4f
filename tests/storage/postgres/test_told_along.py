"""A hint that goes along with the commit it speaks of: of one job, put in line after a while of silence."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

import asyncpg
import pytest

from tenure.storage.contract import Wakeups
from tenure.storage.postgres import wakeups
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.contract.test_listen import fall_asleep, woken
from tests.storage.postgres.test_round_trips import Ear, listen
from tests.storage.telling import enqueue_one

GATE = "SELECT pg_advisory_xact_lock(7308325449218352743)"


@pytest.fixture
async def single(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """A store with one connection that has put a job in line before."""
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    await enqueue_one(store)
    yield store
    await store.close()


@pytest.fixture
async def ear(single: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Ear:
    """What it sends, when its last hint is long past."""
    monkeypatch.setattr(wakeups, "QUIET", 0.0)
    monkeypatch.setattr(single._hints, "_quiet_until", 0.0)
    return await listen(single)


@pytest.fixture
async def asleep(store: PostgresStore, single: PostgresStore) -> AsyncIterator[Wakeups]:
    """Somebody in another process, who has heard all hints of what was before and waits for the next."""
    async with store.listen() as waiting:
        await fall_asleep(waiting)
        yield waiting


async def test_one_statement_puts_a_job_in_line_and_tells_of_it(
    single: PostgresStore, ear: Ear, asleep: Wakeups
) -> None:
    await enqueue_one(single)
    assert await woken(asleep)
    assert await ear.count() == 1


async def test_who_meets_another_one_there_does_not_wait_and_tells_of_it_afterwards(
    single: PostgresStore, ear: Ear, asleep: Wakeups, foreign: asyncpg.Connection
) -> None:
    """Commits that notify go one after the other: a crowd of them would share no sync to disk."""
    await foreign.execute(GATE)
    await enqueue_one(single)
    assert await woken(asleep)
    await single.close()
    assert [text.split()[0] for text in await ear.heard()] == ["WITH", "NOTIFY"]


async def test_a_key_that_is_taken_is_no_news(single: PostgresStore, ear: Ear, asleep: Wakeups) -> None:
    await enqueue_one(single, key="first")
    assert await woken(asleep)
    await enqueue_one(single, key="first")
    assert not await asleep.wait(0.1)
    assert not any(text.startswith("NOTIFY") for text in await ear.heard())


async def test_who_puts_in_one_job_after_the_other_sends_nothing_else(
    single: PostgresStore, ear: Ear, asleep: Wakeups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hint that was to follow is not sent where a later job's own speaks of the same place."""
    await enqueue_one(single)
    monkeypatch.setattr(single._hints, "_quiet_until", monotonic() + 60)
    await enqueue_one(single)
    await asyncio.sleep(0)  # as long as who is to send its hint takes to begin to wait
    monkeypatch.setattr(single._hints, "_quiet_until", 0.0)
    await enqueue_one(single)
    await single._hints.close()
    assert [text.split()[0] for text in await ear.heard()] == ["WITH", "WITH", "WITH"]
    assert await woken(asleep)


async def test_a_hint_of_another_place_is_not_put_off(
    single: PostgresStore, ear: Ear, asleep: Wakeups, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enqueue_one(single)
    monkeypatch.setattr(single._hints, "_quiet_until", monotonic() + 60)
    await enqueue_one(single, priority=7)
    monkeypatch.setattr(single._hints, "_quiet_until", 0.0)
    await enqueue_one(single)
    await single._hints.close()
    assert [text.split()[0] for text in await ear.heard()] == ["WITH", "WITH", "WITH", "NOTIFY"]


async def test_what_was_put_in_line_meanwhile_is_told_of_as_well(single: PostgresStore) -> None:
    """Its commit may come after the hint that is under way."""
    hints = single._hints
    await hints.close()
    hints._quiet_until = 0.0
    under_way = hints.along()
    hints._quiet_until = monotonic() + 60
    hints.queued([(1, 0)])
    hints.queued([(1, 0)], told=under_way)
    assert hints._unsent == {"queued"}
    await hints.close()
