"""What the store sends: one statement a turn of a worker, and few for many callers."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.pool import Connection
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import MAIL, enqueue_one, succeeded
from tests.until import until

TURN = "AS place (line, rank, after, turn)"
"""Stands in a turn, and in no look for lines."""


@pytest.fixture
async def single(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """A store with one connection, which has looked up its line and its clock already."""
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    await enqueue_one(store)
    yield store
    await store.close()


class SentStatements:
    """The statements that a store sends, as its driver logs them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._is_logged = asyncio.Event()

    async def attach(self, connection: Connection) -> None:
        connection.add_query_logger(self._note)

    async def count(self) -> int:
        """How many there were; the driver logs a moment after it answers."""
        return len(await self.statements())

    async def statements(self) -> list[str]:
        """Their texts."""
        await self._is_logged.wait()
        return self.texts

    def _note(self, query: asyncpg.connection.LoggedQuery) -> None:
        self.texts.append(query.query)
        self._is_logged.set()


async def watch(store: PostgresStore) -> SentStatements:
    """Log the statements that the store sends from now on."""
    sent = SentStatements()
    await store._pool.run_task(sent.attach)
    return sent


async def test_settling_and_claiming_is_one_round_trip(single: PostgresStore) -> None:
    await single.enqueue([NewJob(definition="mail") for _ in range(9)])
    order = Order(worker="a", lines=(MAIL,), limit=3)
    first = await single.settle_and_claim([], order)
    first = await single.settle_and_claim([succeeded(claimed) for claimed in first.claimed], order)
    sent = await watch(single)

    second = await single.settle_and_claim([succeeded(claimed) for claimed in first.claimed], order)

    assert (len(second.settled.accepted), len(second.claimed)) == (3, 3)
    assert await sent.count() == 1


@pytest.mark.parametrize("held", [(), (Limit("api", "", 3),)])
async def test_jobs_of_lines_that_an_order_does_not_name_cost_its_turn_no_look(
    single: PostgresStore, held: tuple[Limit, ...]
) -> None:
    """Where there are enough jobs, and none of them waits for what those that end leave."""
    line = Line("default", "post")
    await single.enqueue([NewJob(definition="mail") for _ in range(12)])
    await single.enqueue([NewJob(definition="post", limits=held) for _ in range(3)])
    first, *others = (await single.settle_and_claim([], Order(worker="a", lines=(line,), limit=3))).claimed
    order = Order(worker="a", lines=(MAIL,), limit=3)
    await single.settle_and_claim([succeeded(first)], order)
    sent = await watch(single)

    for one in others:
        assert len((await single.settle_and_claim([succeeded(one)], order)).claimed) == 3

    await until(lambda: sum(TURN in text for text in sent.texts) == 2)
    assert [text for text in sent.texts if TURN not in text and not text.startswith("NOTIFY")] == []


@pytest.mark.parametrize("held", [(), (Limit("api", "", 3),)])
async def test_a_turn_looks_at_slots_only_where_there_are_limits(
    single: PostgresStore, held: tuple[Limit, ...]
) -> None:
    """A slot is freed even if no job claimed next has a limit."""
    line = Line("default", "post")
    await enqueue_one(single, "post", limits=held)
    [before] = (await single.settle_and_claim([], Order(worker="a", lines=(line,), limit=1))).claimed
    await single.settle_and_claim([], Order(worker="a", lines=(MAIL,), limit=0))
    sent = await watch(single)

    turn = await single.settle_and_claim([succeeded(before)], Order(worker="a", lines=(line,), limit=0))

    assert len(turn.settled.accepted) == 1
    assert [use.held for use in await single.limits()] == [0] * len(held)
    assert ["tenure.slot" in text for text in await sent.statements()][:1] == [bool(held)]


async def test_what_arrives_while_a_statement_is_in_flight_rides_on_the_next(single: PostgresStore) -> None:
    sent = await watch(single)
    answers = await asyncio.gather(*(enqueue_one(single, key=f"key-{n}") for n in range(200)))
    assert len(set(answers)) == 200
    assert await sent.count() <= 4


async def test_a_lone_caller_waits_for_nobody(single: PostgresStore) -> None:
    sent = await watch(single)
    await enqueue_one(single)
    assert await sent.count() == 1


async def test_a_process_that_only_enqueues_asks_for_no_more_than_it_must(
    single: PostgresStore, backend: PostgresBackend
) -> None:
    """The time, the line and the job: no look-up of types, no new line, no hint of its own."""
    fresh = PostgresStore(backend.dsn, connections=1)
    await fresh.open()
    sent = await watch(fresh)
    await enqueue_one(fresh)
    await fresh.close()
    assert await sent.count() == 3
