"""A hint that goes along with the commit of its job: of a single job, after a time without hints."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tenure.storage.contract.store import Wakeups
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.hint_pace import HintPace
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.test_round_trips import SentStatements, watch
from tests.storage.verbs import enqueue_one, fall_asleep, woken

GATE = "SELECT pg_advisory_xact_lock(7308325449218352743)"


@pytest.fixture
async def single(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """A store with one connection that has enqueued a job before."""
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    await enqueue_one(store)
    yield store
    await store.close()


class MovedPace(HintPace):
    """How often hints are sent, at a time that a test moves."""

    def __init__(self) -> None:
        super().__init__(lambda: self.now)
        self.now = 0.0

    def be_silent(self) -> None:
        """No hint may be sent from now on."""
        self.now += 60
        self.note_told()
        self.now -= 60

    def be_free(self) -> None:
        """The last hint was long ago."""
        self.now += 120


@pytest.fixture
def pace(single: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> MovedPace:
    """The pace of the store's hints."""
    moved = MovedPace()
    monkeypatch.setattr(single._wakeups, "pace", moved)
    return moved


@pytest.fixture
async def sent(single: PostgresStore, pace: MovedPace) -> SentStatements:
    """The statements that it sends, long after its last hint."""
    return await watch(single)


@pytest.fixture
async def asleep(store: PostgresStore, single: PostgresStore) -> AsyncIterator[Wakeups]:
    """A listener in another process that has received all earlier hints and waits for the next."""
    async with store.listen() as waiting:
        await fall_asleep(waiting)
        yield waiting


async def test_one_statement_puts_a_job_in_line_and_tells_of_it(
    single: PostgresStore, sent: SentStatements, asleep: Wakeups
) -> None:
    await enqueue_one(single)
    assert await woken(asleep)
    assert await sent.count() == 1


async def test_who_meets_another_one_there_does_not_wait_and_tells_of_it_afterwards(
    single: PostgresStore, sent: SentStatements, asleep: Wakeups, foreign: asyncpg.Connection
) -> None:
    """PostgreSQL serializes commits that notify: concurrent ones would share no sync to disk."""
    await foreign.execute(GATE)
    await enqueue_one(single)
    assert await woken(asleep)
    await single.close()
    assert [text.split()[0] for text in await sent.statements()] == ["WITH", "NOTIFY"]


async def test_a_key_that_is_taken_is_no_news(
    single: PostgresStore, sent: SentStatements, asleep: Wakeups
) -> None:
    await enqueue_one(single, key="first")
    assert await woken(asleep)
    await enqueue_one(single, key="first")
    assert not await asleep.wait(0.1)
    assert not any(text.startswith("NOTIFY") for text in await sent.statements())


async def test_who_puts_in_one_job_after_the_other_sends_nothing_else(
    single: PostgresStore, sent: SentStatements, asleep: Wakeups, pace: MovedPace
) -> None:
    """A hint that was due is not sent if the hint of a later job names the same place."""
    await enqueue_one(single)
    pace.be_silent()
    await enqueue_one(single)
    await asyncio.sleep(0)  # until the task that sends its hint has begun to wait
    pace.be_free()
    await enqueue_one(single)
    await single._wakeups.close()
    assert [text.split()[0] for text in await sent.statements()] == ["WITH", "WITH", "WITH"]
    assert await woken(asleep)


async def test_a_hint_of_another_place_is_not_put_off(
    single: PostgresStore, sent: SentStatements, asleep: Wakeups, pace: MovedPace
) -> None:
    await enqueue_one(single)
    pace.be_silent()
    await enqueue_one(single, priority=7)
    await asyncio.sleep(0)  # until the task that sends its hint has begun to wait
    pace.be_free()
    await enqueue_one(single)
    await single._wakeups.close()
    assert [text.split()[0] for text in await sent.statements()] == ["WITH", "WITH", "WITH", "NOTIFY"]


async def test_what_was_put_in_line_meanwhile_is_told_of_as_well(
    single: PostgresStore, pace: MovedPace
) -> None:
    """Its commit may come after the hint that is under way."""
    hints = single._wakeups
    await hints.close()
    under_way = hints.along_with_commit()
    pace.be_silent()
    hints.queued([(1, 0)])
    hints.queued([(1, 0)], sent=under_way)
    assert hints._unsent == {"queued"}
    await hints.close()
