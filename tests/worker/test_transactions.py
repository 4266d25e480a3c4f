"""Transactions of handlers: what they write is there exactly as often as their steps, in every lane."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tenure.core.model.durable import StepKind
from tenure.core.model.job import Job, NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.signals import AttemptLost
from tenure.core.values.documents import write
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.storage.postgres.relay import Relay
from tests.testing.test_durable_page import FILES
from tests.until import until
from tests.worker.durable_app import LANES
from tests.worker.running_worker import QUICK, appear, reach
from tests.worker.serving_app import serving_app
from tests.worker.transaction_app import DATABASE

TARGET = "tests.worker.transaction_app:app"
ALL = [
    *(f"{lane}.pay" for lane in LANES if lane != "thread"),
    *(f"{lane}.pay_plainly" for lane in LANES if lane != "async"),
]


@pytest.fixture
def address(postgres_server: PostgresServer) -> str:
    """A database with the schema: there are no such transactions on SQLite."""
    return create_migrated(postgres_server, f"charges_{os.urandom(4).hex()}")


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    """An open store there."""
    opened = store_for(address)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def database(address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[asyncpg.Connection]:
    """A connection beside those of handlers, which are given the address."""
    monkeypatch.setenv(DATABASE, address)
    connection = await asyncpg.connect(address)
    await connection.execute("CREATE TABLE charges (job text, amount integer)")
    yield connection
    await connection.close()


async def charges(database: asyncpg.Connection, job: UUID) -> list[int]:
    """What a job has charged."""
    wanted = "SELECT amount FROM charges WHERE job = $1 ORDER BY amount"
    return [amount for (amount,) in await database.fetch(wanted, str(job))]


async def enqueue(store: Store, definition: str, **params: Any) -> UUID:
    """A job with these params."""
    policy = Policy(max_attempts=3, retry=QUICK)
    [made] = await store.enqueue([NewJob(definition=definition, params=write(params), policy=policy)])
    return made.id


async def ended(store: Store, job: UUID) -> Job:
    """The job at its end."""
    return await reach(store, job, State.SUCCEEDED, State.FAILED)


async def test_in_every_lane_what_was_written_is_there_exactly_as_often_as_its_step(
    store: Store, database: asyncpg.Connection
) -> None:
    """S0.7, S2.30: and a later attempt finds the result, without running it again."""
    async with serving_app(store, TARGET):
        jobs = {lane: await enqueue(store, lane) for lane in ALL}
        for lane, job in jobs.items():
            done = await ended(store, job)
            assert (done.state, done.error) == (State.SUCCEEDED, None), lane
            assert done.result == write([2, {"charged": 1}, {"charged": 2}])
            assert await charges(database, job) == [1, 2]
            steps = await store.steps(job)
            assert [(step.name, step.kind) for step in steps] == [
                ("first", StepKind.TRANSACTION),
                ("second", StepKind.TRANSACTION),
            ]


@pytest.mark.parametrize("definition", ["once", "once_plainly"])
@pytest.mark.parametrize("side", ["answer", "question"])
async def test_a_commit_whose_answer_is_lost_is_looked_up(
    store: Store,
    address: str,
    database: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    definition: str,
    side: str,
) -> None:
    """S0.6: it was committed, and the attempt goes on; or it was not, and the next attempt does it."""
    relay = Relay(address)
    monkeypatch.setenv(DATABASE, await relay.open())
    getattr(relay, f"cut_{side}" if side == "question" else "cut_answer_to")(b"COMMIT")
    async with serving_app(store, TARGET):
        job = await enqueue(store, definition)
        done = await ended(store, job)
    await relay.cut()
    assert relay.cut_short == 1
    assert (done.state, done.error) == (State.SUCCEEDED, None)
    assert done.result == write(1 if side == "answer" else 2)
    assert await charges(database, job) == [1]
    [step] = await store.steps(job)
    assert step.fence == (1 if side == "answer" else 2)


async def test_a_zombies_transaction_is_rolled_back(store: Store, database: asyncpg.Connection) -> None:
    """S0.14: the next attempt does it, and once."""
    async with serving_app(store, TARGET):
        job = await enqueue(store, "zombie")
        done = await ended(store, job)
    assert (done.state, done.result) == (State.SUCCEEDED, write(2))
    assert await charges(database, job) == [1]
    [first, _] = await store.attempts(job)
    assert first.error is not None
    assert "lease of this attempt is gone" in first.error.message


async def test_a_transaction_is_tried_again_within_its_attempt(
    store: Store, database: asyncpg.Connection
) -> None:
    """By the name it has; what the failed try wrote is not there."""
    async with serving_app(store, TARGET):
        job = await enqueue(store, "retries")
        done = await ended(store, job)
    assert (done.state, done.error, done.result) == (State.SUCCEEDED, None, write(1))
    assert await charges(database, job) == [1]
    assert [step.name for step in await store.steps(job)] == ["charge"]


REFUSED = {
    "ends itself": "has ended its transaction itself",
    "goes on in another": "has ended its transaction itself",
    "no JSON": "was rolled back, since its result cannot be kept",
    "too large": "was rolled back, since its result cannot be kept",
    "a step within": "is made within the step 'charge'",
    "async": "is async; call it by the method without _sync",
    "no name": 'name: is work(); it comes first: ctx.transaction("work", work, …)',
}


async def test_what_no_transaction_may_do_is_refused_and_keeps_no_step(
    store: Store, database: asyncpg.Connection
) -> None:
    async with serving_app(store, TARGET):
        jobs = {what: await enqueue(store, "refused", what=what) for what in REFUSED}
        for what, job in jobs.items():
            done = await ended(store, job)
            assert done.state is State.FAILED, what
            assert done.error is not None
            assert REFUSED[what] in done.error.message
            assert await store.steps(job) == []
            assert await charges(database, job) == ([1] if what == "ends itself" else [])
        done = await ended(store, await enqueue(store, "unnamed"))
        assert done.error is not None
        assert 'name the variable with its address: @app.job(…, database="ORDERS_DB")' in done.error.message


async def test_a_child_that_freezes_before_its_commit_stops_no_neighbour(
    store: Store, database: asyncpg.Connection, tmp_path: Path
) -> None:
    """The heartbeat passes over its job, and the server ends its transaction."""
    held = (
        "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' "
        "AND datname = current_database() AND query LIKE '%keep_step%'"
    )
    beats = "SELECT count(*) FROM tenure.lease WHERE heartbeat_at > $1"
    over, frozen = tmp_path / "over", tmp_path / "frozen"
    async with serving_app(store, TARGET, slots=21, lease=3) as running:
        neighbours = [await enqueue(store, "neighbour", ledger=str(over)) for _ in range(20)]
        for job in neighbours:
            await reach(store, job, State.RUNNING)
        job = await enqueue(store, "freezes", ledger=str(frozen))
        pid = int(await appear(frozen))
        assert await database.fetchval(held) == 1
        since = await database.fetchval("SELECT clock_timestamp()")

        async def is_prolonged() -> bool:
            return bool(await database.fetchval(beats, since))

        async def is_ended() -> bool:
            return not await database.fetchval(held)

        await until(is_prolonged)
        await until(is_ended)
        assert running.signals(AttemptLost) == []
        os.kill(pid, signal.SIGKILL)
        done = await ended(store, job)
        over.write_text("over")
        for one in neighbours:
            found = await ended(store, one)
            assert (found.state, found.result) == (State.SUCCEEDED, write(1))
    assert running.signals(AttemptLost) == []
    assert (done.state, done.result) == (State.SUCCEEDED, write(2))
    assert await charges(database, job) == [1]


async def test_the_program_of_the_page_charges_once(
    store: Store, address: str, database: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHOP_DATABASE", address)
    (tmp_path / "till.py").write_text(FILES["durable-handlers"]["till"])
    await database.execute("DROP TABLE charges")
    await database.execute("CREATE TABLE charges (id serial, number integer)")
    async with serving_app(store, "till:app", folder=tmp_path):
        job = await enqueue(store, "order.charge", order=7)
        done = await ended(store, job)
    assert (done.state, done.result) == (State.SUCCEEDED, write({"charge": 1}))
