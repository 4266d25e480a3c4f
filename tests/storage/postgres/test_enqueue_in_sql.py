"""`tenure.enqueue`: jobs from triggers and from programs in other languages."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from tenure.core.model.job import Job
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.override import Override
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.operations import Definition
from tenure.core.reports.reading import Filter
from tenure.core.values.documents import Document, write
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.clock import START
from tests.storage.verbs import PATIENCE, claim, fall_asleep, found

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "who": {"type": "object"}, "n": {"type": "integer"}},
    "required": ["to"],
    "additionalProperties": False,
}
MAIL = Spec(
    key="mail",
    version=2,
    queue="post",
    priority=7,
    policy=Policy(
        max_attempts=4,
        timeout=timedelta(seconds=1.5),
        grace=timedelta(seconds=2),
        retry=RetryPolicy(
            base=timedelta(seconds=3), cap=timedelta(seconds=9), retry_on=("OSError",), fatal_on=("KeyError",)
        ),
    ),
    concurrency=3,
    concurrency_key="/who/name~1x",
    limits=(Limit("smtp", size=5),),
    tags=("red", "blue"),
    params_schema=write(SCHEMA),
)
PLAIN = Spec(key="plain", policy=Policy(on_lost=OnLost.BURY))
OLD = Spec(key="mail", version=1)
MILL = Spec(key="mill", concurrency=2)
ADA = {"to": "ada", "who": {"name/x": "a"}}


@pytest.fixture
async def store(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """A store in which a worker has registered its definitions."""
    opened = backend.store()
    await opened.open()
    await opened.put_definitions(
        [
            Definition(key=spec.key, version=spec.version, spec=spec.document())
            for spec in (MAIL, PLAIN, OLD, MILL)
        ]
    )
    yield opened
    await opened.close()


@pytest.fixture
async def shell(backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """A client with SQL and nothing else."""
    connection = await asyncpg.connect(backend.dsn)
    yield connection
    await connection.close()


async def enqueue(shell: asyncpg.Connection, definition: str, params: object = None, **named: Any) -> UUID:
    values = {"definition": definition, "params": json.dumps({} if params is None else params), **named}
    arguments = ", ".join(f"{name} => ${n}" for n, name in enumerate(values, 1))
    made = await shell.fetchval(f"SELECT tenure.enqueue({arguments})", *values.values())
    return UUID(str(made))


def alike(job: Job) -> Job:
    """The job without its own id and times."""
    params = write(msgspec.json.decode(job.params))
    return msgspec.structs.replace(job, id=UUID(int=0), params=params)


async def test_a_job_is_as_the_library_would_make_it(store: PostgresStore, shell: asyncpg.Connection) -> None:
    [made] = await store.enqueue([MAIL.new_job(write(ADA), tags=["green"], max_attempts=2)])
    job = await enqueue(shell, "mail", ADA, tags=["green", "red"], max_attempts=2)
    assert alike(await found(store, job)) == alike(await found(store, made.id))
    [own, shared] = await store.limits()
    assert {own.name, shared.name} == {"mail", "smtp"}
    assert job.version == 7
    taken = await claim(store, limit=2, lines=[Line("post", "mail", 2)])
    assert {owned.lease.job for owned in taken} == {made.id, job}
    totals = {line.line: line.counts for line in await store.lines()}
    assert totals[Line("post", "mail", 2)] == {State.RUNNING: 2}


async def test_a_job_follows_from_what_it_is_told(store: PostgresStore, shell: asyncpg.Connection) -> None:
    """S1.76: and an invalid one is ignored."""
    followed = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"
    valid = await enqueue(shell, "plain", traceparent=followed)
    invalid = await enqueue(shell, "plain", traceparent="nonsense")
    assert [(await found(store, job)).traceparent for job in (valid, invalid)] == [followed, None]


async def test_keys_are_named_and_fenced_as_in_the_library(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    for namespace in ("default", "acme"):
        for keys in (["b", "a"], []):
            options: dict[str, Any] = {"concurrency_keys": keys, "namespace": namespace}
            [made] = await store.enqueue([MAIL.new_job(write(ADA), **options)])
            job = await enqueue(shell, "mail", ADA, **options)
            assert alike(await found(store, job)) == alike(await found(store, made.id))
    assert [use.key for use in await store.limits()] == ["a", "acme\x1fa", "acme\x1fb", "b", ""]


async def test_a_key_that_only_the_database_thinks_printable_can_be_read(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    job = await enqueue(shell, "mail", {"to": "a", "who": {"name/x": "a\u200bb"}})
    assert (await found(store, job)).concurrency_keys == ("a\u200bb",)


async def test_the_defaults_of_a_definition_hold(store: PostgresStore, shell: asyncpg.Connection) -> None:
    [made] = await store.enqueue([PLAIN.new_job(write({}))])
    job = await enqueue(shell, "plain", max_attempts=9)
    assert alike(await found(store, job)) == alike(await found(store, made.id))


async def test_what_an_operator_has_set_counts_as_it_does_for_the_library(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    """A part of the backoff leaves the rest of it, and what no operator may set stays as the code says."""
    wanted = Document(
        '{"max_attempts":9,"priority":null,"retry":{"cap_seconds":30},"queue":"elsewhere","on_lost":"bury"}'
    )
    await store.put_definitions([Definition(key="mail", version=2, spec=MAIL.document(), override=wanted)])
    expected = Override.read(wanted).applied(MAIL.new_job(write(ADA)), MAIL)
    [made] = await store.enqueue([expected])
    job = await enqueue(shell, "mail", ADA)
    assert alike(await found(store, job)) == alike(await found(store, made.id))
    assert (expected.policy.max_attempts, expected.policy.retry.cap) == (9, timedelta(seconds=30))


async def test_a_job_with_a_time_wakes_who_looks_at_the_clock(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    async with store.listen(changes=True) as wakeups:
        await fall_asleep(wakeups)
        await enqueue(shell, "plain", run_at=START + timedelta(days=1))
        assert await wakeups.wait(PATIENCE)


async def test_a_job_may_wait_for_a_time_or_for_a_word(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    later = await enqueue(shell, "plain", run_at=START + timedelta(hours=1))
    past = await enqueue(shell, "plain", run_at=START)
    held = await enqueue(shell, "plain", hold=True)
    states = [(await found(store, job)).state for job in (later, past, held)]
    assert states == [State.SCHEDULED, State.QUEUED, State.CREATED]
    [standing] = await store.accept([held])
    assert standing.state is State.QUEUED


async def test_a_key_makes_one_job_whoever_asks(store: PostgresStore, shell: asyncpg.Connection) -> None:
    job = await enqueue(shell, "mail", ADA, idempotency_key="k")
    assert await enqueue(shell, "mail", {**ADA}, idempotency_key="k") == job
    [known] = await store.enqueue([MAIL.new_job(write(ADA), idempotency_key="k")])
    assert (known.id, known.fresh) == (job, False)
    [first] = await store.enqueue([MAIL.new_job(write(ADA), idempotency_key="l")])
    assert await enqueue(shell, "mail", ADA, idempotency_key="l") == first.id
    with pytest.raises(asyncpg.PostgresError, match="idempotency_key: was used before, with other params"):
        await enqueue(shell, "mail", {"to": "bob"}, idempotency_key="k")
    assert await enqueue(shell, "mail", {}, idempotency_key="k", version=1) != job


async def test_a_trigger_makes_jobs_that_vanish_with_its_transaction(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    await shell.execute("""
        CREATE TEMP TABLE customer (mail text);
        CREATE FUNCTION pg_temp.greet() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM tenure.enqueue('mail', jsonb_build_object('to', NEW.mail));
            RETURN NEW;
        END $$;
        CREATE TRIGGER greet AFTER INSERT ON customer FOR EACH ROW EXECUTE FUNCTION pg_temp.greet();
    """)
    transaction = shell.transaction()
    await transaction.start()
    await shell.execute("INSERT INTO customer VALUES ('eve')")
    await transaction.rollback()
    await shell.execute("INSERT INTO customer VALUES ('ada'), ('bob')")
    taken = await claim(store, limit=9, lines=[Line("post", "mail", 2)])
    assert sorted(msgspec.json.decode(owned.params)["to"] for owned in taken) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"definition": "letter"}, "definition: 'letter' is not known"),
        ({"definition": "mail", "version": 9}, "definition: 'mail' is not known"),
        ({"params": []}, "params: is array"),
        ({"params": {}}, "params/to: is missing"),
        ({"params": {"to": "a", "x": 1}}, "params/x: is not known"),
        ({"params": {"to": "a" * 262_144}}, "params: has more than 262144 bytes"),
        ({"params": {"to": "a", "who": {"name/x": {}}}}, "params: leads to no plain value"),
        ({"params": {"to": "a", "who": {"name/x": "a\nb"}}}, "params: leads to no plain value"),
        ({"params": {"to": "a", "who": {"name/x": "a" * 256}}}, "params: leads to no plain value"),
        ({"definition": "plain", "concurrency_keys": ["a"]}, "concurrency_keys: have no limit to go with"),
        ({"definition": "mill", "concurrency_keys": ["a"]}, "concurrency_keys: have no limit to go with"),
        ({"concurrency_keys": [str(n) for n in range(10)]}, "concurrency_keys: are too many"),
        ({"concurrency_keys": ["a", "a"]}, "concurrency_keys: are too many, or one stands twice"),
        ({"concurrency_keys": ["a", ""]}, "concurrency_keys: are not 1 to 255 printable"),
        ({"concurrency_keys": ["a\x1fb"]}, "concurrency_keys: are not 1 to 255 printable"),
        ({"queue": "a b"}, "queue: is not a name"),
        ({"namespace": ""}, "namespace: is not a name"),
        ({"priority": 32_768}, "priority: is 32768"),
        ({"max_attempts": 0}, "max_attempts: is 0"),
        ({"run_at": START + timedelta(days=400_000)}, "run_at: is "),
        ({"idempotency_key": ""}, "idempotency_key: is not 1 to 255"),
        ({"idempotency_key": "a\nb"}, "idempotency_key: is not 1 to 255"),
        ({"tags": ["a b"]}, "tags: are too many, or one is not a name"),
        ({"tags": [str(n) for n in range(21)]}, "tags: are too many, or one is not a name"),
    ],
)
async def test_what_cannot_be_taken_is_refused_by_name(
    store: PostgresStore, shell: asyncpg.Connection, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(asyncpg.PostgresError, match=f"tenure: {message}") as refusal:
        await enqueue(shell, **{"definition": "mail", "params": {"to": "a"}, **values})
    assert (refusal.value.sqlstate, bool(refusal.value.hint)) == ("TN002", True)
    assert await shell.fetchval("SELECT count(*) FROM tenure.job") == 0


async def test_a_reserved_definition_is_refused_even_if_there_is_one(
    store: PostgresStore, shell: asyncpg.Connection
) -> None:
    spec = Spec(key="system.prune")
    await store.put_definitions([Definition(key=spec.key, version=1, spec=spec.document())])
    with pytest.raises(asyncpg.PostgresError, match=r"definition: begins with 'system\.', which is reserved"):
        await enqueue(shell, "system.prune")
    assert not (await store.page(Filter())).jobs
