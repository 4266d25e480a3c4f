"""Jobs recorded in the caller's own transaction: with every driver, they commit or vanish together."""

import asyncio
import inspect
import sqlite3
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import asyncpg
import psycopg
import pytest
import sqlalchemy

from tenure import IdempotencyConflict, InvalidInput, JobHandle, JobNotFound, State, Tenure
from tenure.core.model.lease import Line
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.library.definition import JobDefinition
from tests.postgres_server import PostgresServer
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend
from tests.storage.verbs import claim, fall_asleep
from tests.surfaces.library.foreign_connections import (
    DRIVERS,
    CallerConnection,
    Connect,
    django_connection,
)
from tests.until import until

Mails = JobDefinition[dict[str, Any], None]
LINES = [Line("default", "mail")]
PATIENCE = 60.0


@pytest.fixture(params=DRIVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """A database of the kind that the driver is for, with a table of the caller's own."""
    kind, _, _ = DRIVERS[request.param]
    made: Backend
    if kind == "sqlite":
        made = SqliteBackend(tmp_path / "tenure.db")
    else:
        made = PostgresBackend(request.getfixturevalue("postgres_server"))
    await made.prepare()
    await made.sql("CREATE TABLE note (text text)")
    yield made
    await made.sql("DROP TABLE note")
    await made.dispose()


@pytest.fixture
async def caller(request: pytest.FixtureRequest, backend: Backend) -> AsyncIterator[CallerConnection]:
    """A connection with an open transaction that has written a note."""
    async with _connect_of(request)(backend.address) as made:
        await done(made.run("INSERT INTO note VALUES ('mine')"))
        yield made


@pytest.fixture
def is_plain(request: pytest.FixtureRequest) -> bool:
    """Whether the driver works in plain code."""
    return DRIVERS[_name(request)][1]


@pytest.fixture
def mail(app: Tenure) -> Mails:
    @app.job("mail", concurrency=2, concurrency_key="to")
    def send(params: dict[str, Any]) -> None: ...

    return send


@pytest.fixture
async def old(mail: Mails) -> JobHandle[Any]:
    """A job under the key 0; requested before `caller`, which locks an SQLite file."""
    return await mail.enqueue({"n": 0}, idempotency_key="0")


async def done(step: Any) -> Any:
    """The answer of a driver, awaited if it must be."""
    return await step if inspect.isawaitable(step) else step


async def kept(backend: Backend) -> set[UUID]:
    """Every job there is."""
    return {UUID(str(job)) for (job,) in await backend.sql("SELECT id FROM tenure.job")}


def _name(request: pytest.FixtureRequest) -> str:
    name: str = request.node.callspec.params["backend"]
    return name


def _connect_of(request: pytest.FixtureRequest) -> Connect:
    return DRIVERS[_name(request)][2]


async def test_a_job_is_seen_when_the_callers_transaction_commits_and_not_before(
    mail: Mails, caller: CallerConnection, backend: Backend, store: Store
) -> None:
    job = await mail.enqueue({"to": "ada"}, connection=caller.connection, tags=["new"])
    with pytest.raises(JobNotFound):
        await job.status()
    if backend.kind == "postgres":  # an SQLite file has one writer at a time
        assert await claim(store, lines=LINES) == []
    await done(caller.end("commit"))
    assert await job.status() is State.QUEUED
    assert await backend.sql("SELECT text FROM note") == [("mine",)]
    assert [event.n for event in await job.events()] == [1]
    assert [owned.lease.job for owned in await claim(store, lines=LINES)] == [job.id]


async def test_a_job_vanishes_with_what_the_caller_takes_back(
    mail: Mails, caller: CallerConnection, backend: Backend
) -> None:
    jobs = await mail.enqueue_many([{"to": "ada"}, {"to": "bob"}], connection=caller.connection)
    await done(caller.end("rollback"))
    for job in jobs:
        with pytest.raises(JobNotFound):
            await job.status()
    assert await backend.sql("SELECT text FROM note") == []
    assert await kept(backend) == set()


async def test_plain_code_does_the_same(
    mail: Mails, caller: CallerConnection, is_plain: bool, store: Store
) -> None:
    def enqueue() -> list[JobHandle[Any]]:
        one = mail.enqueue_sync({"to": "ada"}, connection=caller.connection)
        return [one, *mail.enqueue_many_sync([{}, {}], delay=60, connection=caller.connection)]

    if is_plain:
        jobs = await asyncio.to_thread(enqueue)
        await done(caller.end("commit"))
        assert [await job.status() for job in jobs] == [State.QUEUED, State.SCHEDULED, State.SCHEDULED]
    else:
        with pytest.raises(InvalidInput, match="connection: is asynchronous; await the method without _sync"):
            await asyncio.to_thread(enqueue)
        await done(caller.end("rollback"))


async def test_a_key_finds_its_job_committed_or_not(
    mail: Mails, old: JobHandle[Any], caller: CallerConnection, backend: Backend
) -> None:
    again = await mail.enqueue({"n": 0}, idempotency_key="0", connection=caller.connection)
    fresh = await mail.enqueue({"n": 1}, idempotency_key="1", connection=caller.connection)
    within = await mail.enqueue({"n": 1}, idempotency_key="1", connection=caller.connection)
    assert (again, within) == (old, fresh)
    with pytest.raises(IdempotencyConflict):
        await mail.enqueue({"n": 2}, idempotency_key="0", connection=caller.connection)
    await done(caller.end("commit"))
    assert await kept(backend) == {old.id, fresh.id}


async def test_a_batch_may_hold_old_and_new_keys(
    mail: Mails, old: JobHandle[Any], caller: CallerConnection, app: Tenure, backend: Backend
) -> None:
    jobs = [mail.new_job({"n": n}, idempotency_key=str(n)) for n in (2, 0, 1, 2)]
    found = await app.enqueue_many(jobs, connection=caller.connection)
    await done(caller.end("commit"))
    assert found[1] == old
    assert found[3] == found[0]
    assert await kept(backend) == {job.id for job in found}


async def test_params_are_judged_before_anything_is_written(
    mail: Mails, caller: CallerConnection, app: Tenure
) -> None:
    with pytest.raises(InvalidInput):
        await app.enqueue("mail", [1], connection=caller.connection)
    job = await app.enqueue("mail", {}, connection=caller.connection)
    await done(caller.end("commit"))
    assert await job.status() is State.QUEUED


async def test_a_job_that_commits_late_is_found_behind_those_that_came_after(
    mail: Mails, caller: CallerConnection, backend: Backend, store: Store
) -> None:
    if backend.kind == "sqlite":  # nobody else can write before it commits
        await done(caller.end("rollback"))
        return
    late = await mail.enqueue({"to": "late"}, connection=caller.connection)
    early = [await mail.enqueue({"to": "early"}) for _ in range(2)]
    first = await claim(store, limit=3, lines=LINES)
    assert {owned.lease.job for owned in first} == {job.id for job in early}
    await done(caller.end("commit"))
    taken = await until(lambda: claim(store, limit=3, lines=LINES))
    assert [owned.lease.job for owned in taken] == [late.id]


@pytest.mark.parametrize("delay", [0, 60])
async def test_who_listens_is_woken_by_the_commit(
    mail: Mails, caller: CallerConnection, store: Store, delay: int
) -> None:
    """Also by a job with a delay, for listeners that look at the clock."""
    async with store.listen(changes=delay > 0) as wakeups:
        await fall_asleep(wakeups)
        await mail.enqueue({}, delay=delay, connection=caller.connection)
        await done(caller.end("commit"))
        assert await wakeups.wait(PATIENCE)


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> PostgresBackend:
    return PostgresBackend(postgres_server)


async def test_the_callers_patience_is_left_alone(
    mail: Mails, caller: CallerConnection, backend: Backend
) -> None:
    if backend.kind == "postgres":
        await done(caller.run("SET LOCAL lock_timeout = '7s'"))
        await mail.enqueue({}, connection=caller.connection)
        await done(caller.run("INSERT INTO note SELECT current_setting('lock_timeout')"))
        await done(caller.end("commit"))
        assert ("7s",) in await backend.sql("SELECT text FROM note")
    else:
        await done(caller.run("CREATE TABLE place (n)"))
        await mail.enqueue({}, connection=caller.connection)
        await done(caller.run("INSERT INTO place VALUES (1)"))
        await done(caller.end("commit"))
        assert await backend.sql("SELECT n FROM place") == [(1,)]
        assert [*caller.run("SELECT name FROM temp.sqlite_schema")] == []


class TestRefused:
    """A connection without an open transaction on the app's database is refused; nothing is written."""

    @pytest.fixture(params=["sqlite", "postgres"])
    async def backend(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
        made: Backend = SqliteBackend(tmp_path / "tenure.db")
        if request.param == "postgres":
            made = PostgresBackend(request.getfixturevalue("postgres_server"))
        await made.prepare()
        yield made
        await made.dispose()

    async def refused(self, mail: Mails, connection: Any) -> str:
        with pytest.raises(InvalidInput) as refusal:
            await mail.enqueue({}, connection=connection)
        return str(refusal.value)

    async def test_connections_that_commit_every_statement(self, mail: Mails, backend: Backend) -> None:
        if isinstance(backend, SqliteBackend):
            connection = apsw.Connection(str(backend.path))
            assert "has no open transaction; run BEGIN" in await self.refused(mail, connection)
            connection.close()
            return
        with psycopg.connect(backend.address, autocommit=True) as plain:
            assert "has no open transaction; use it inside" in await self.refused(mail, plain)
        engine = sqlalchemy.create_engine(backend.address.replace(":", "+psycopg:", 1))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as automatic:
            assert "has no open transaction; give one" in await self.refused(mail, automatic)
        engine.dispose()
        django = django_connection(backend.address)
        assert "use it inside `with transaction.atomic():`" in await self.refused(mail, django)
        await asyncio.to_thread(django.ensure_connection)
        assert "use it inside `with transaction.atomic():`" in await self.refused(mail, django)
        django.inc_thread_sharing()
        await asyncio.to_thread(django.close)
        raw = await asyncpg.connect(backend.address)
        assert "has no open transaction; use it inside" in await self.refused(mail, raw)
        await raw.close()

    async def test_connections_to_somewhere_else(
        self, mail: Mails, backend: Backend, tmp_path: Path, postgres_server: PostgresServer
    ) -> None:
        if isinstance(backend, SqliteBackend):
            connection = apsw.Connection(str(tmp_path / "other.db"))
            connection.execute("BEGIN IMMEDIATE")
            assert f"connect it to {backend.path}" in await self.refused(mail, connection)
            connection.close()
            return
        elsewhere = await asyncpg.connect(postgres_server.dsn("postgres"))
        transaction = elsewhere.transaction()
        await transaction.start()
        assert "is to another database than the app's" in await self.refused(mail, elsewhere)
        await transaction.rollback()
        await elsewhere.close()

    async def test_what_is_no_connection_that_we_know(self, mail: Mails, backend: Backend) -> None:
        with sqlite3.connect(":memory:") as stranger:
            assert "connection: is a sqlite3.Connection; give a" in await self.refused(mail, stranger)
        stranger.close()
        assert "connection: is a builtins.str; give a" in await self.refused(mail, "postgresql://")
        if backend.kind == "postgres":
            async with asyncpg.create_pool(backend.address, min_size=0) as pool:
                assert "give a connection acquired from it" in await self.refused(mail, pool)


async def test_an_app_may_be_used_first_inside_a_transaction_on_its_file(tmp_path: Path) -> None:
    """Though the file is locked by then: opening the app needs no lock."""
    backend = SqliteBackend(tmp_path / "tenure.db")
    await backend.prepare()
    app = Tenure(backend.address, settings=Settings())

    @app.job("mail")
    def mail(params: dict[str, Any]) -> None: ...

    connection = apsw.Connection(str(backend.path))
    with connection:
        connection.execute("CREATE TABLE note (text)")
        job = await mail.enqueue({}, connection=connection)
    assert await job.status() is State.QUEUED
    connection.close()
    await app.close()


WITHOUT_GREENLET = """
import sys
sys.modules["greenlet"] = None  # as where it is not installed, which SQLAlchemy 2.1 leaves to who wants it
import sqlalchemy
from sqlalchemy.orm import Session
from tenure import InvalidInput, Tenure

app = Tenure(sys.argv[1])
engine = sqlalchemy.create_engine(sys.argv[1].replace(":", "+psycopg:", 1))

@app.job("mail")
def mail(params: dict) -> None: ...

with engine.begin() as connection:
    print(mail.enqueue_sync({}, connection=connection).id)
with Session(engine) as session, session.begin():
    print(mail.enqueue_sync({}, connection=session).id)
try:
    mail.enqueue_sync({}, connection=engine)
except InvalidInput as refusal:
    print(refusal)
app.close_sync()
"""


async def test_plain_sqlalchemy_needs_no_greenlet(postgres: PostgresBackend) -> None:
    await postgres.prepare()
    ran = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WITHOUT_GREENLET, postgres.address, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        output, _ = await ran.communicate()
    *jobs, refusal = output.decode().splitlines() or [""]
    assert {UUID(job) for job in jobs} == await kept(postgres)
    assert len(jobs) == 2
    assert refusal.startswith("connection: is a sqlalchemy.engine.base.Engine; give a connection")
    await postgres.dispose()


async def test_transactions_of_one_program_wait_for_each_other_and_for_nothing_else(
    postgres: PostgresBackend,
) -> None:
    """One waits for a key; meanwhile the one that holds it enqueues more, and both end."""
    await postgres.prepare()
    app = Tenure(postgres.address, settings=Settings())

    @app.job("mail")
    def mail(params: dict[str, Any]) -> None: ...

    with (
        psycopg.connect(postgres.address) as one,
        psycopg.connect(postgres.address) as other,
        ThreadPoolExecutor() as threads,
    ):
        held = mail.enqueue_sync({}, idempotency_key="k", connection=one)
        pid = other.info.backend_pid
        waiting = threads.submit(mail.enqueue_sync, {}, idempotency_key="k", connection=other)
        await until(lambda: postgres.sql(f"SELECT 1 FROM pg_locks WHERE pid = {pid} AND NOT granted"))
        assert not waiting.done()
        mail.enqueue_sync({}, connection=one)
        one.commit()
        assert waiting.result(PATIENCE) == held
    await app.close()
    await postgres.dispose()
