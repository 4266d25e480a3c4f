"""Jobs that differ only in their params: recorded by a shorter statement, with the same result."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from msgspec.structs import replace

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.values.documents import Document, read, write
from tenure.storage.postgres import rows
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import claim

MAIL = NewJob(
    definition="mail",
    version=2,
    queue="slow",
    priority=7,
    namespace="shop",
    policy=Policy(
        max_attempts=1,
        timeout=timedelta(minutes=5),
        grace=timedelta(seconds=3),
        on_lost=OnLost.BURY,
        retry=RetryPolicy(
            base=timedelta(seconds=2), cap=timedelta(seconds=9), retry_on=("a.B",), fatal_on=("c.D",)
        ),
    ),
    parent=uuid4(),
    replay_of=uuid4(),
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
LETTERS = [replace(MAIL, params=Document(f'{{"n":{n}}}')) for n in range(3)]
KEPT = """
    SELECT job.params,
           to_jsonb(job.*) - '{id,params,created_at,mark}'::text[] AS job,
           to_jsonb(job_state.*) - '{id,seq,mark,updated_at,queued_at}'::text[] AS state,
           to_jsonb(ready.*) - '{job,seq}'::text[] AS ready,
           job.created_at = job_state.queued_at AND job.created_at = job_state.updated_at
           AND job.mark = job_state.mark AND ready.seq = job_state.seq AS agree
      FROM tenure.job JOIN tenure.job_state USING (id) JOIN tenure.ready ON ready.job = job.id
     WHERE job.id = ANY ($1) ORDER BY ready.seq
"""


async def kept(connection: asyncpg.Connection, store: PostgresStore, jobs: list[NewJob]) -> list[Any]:
    """The records of jobs that are enqueued together, by their places in line."""
    answers = await store.enqueue(jobs)
    assert [(answer.state, answer.fresh, answer.matches) for answer in answers] == [
        (State.QUEUED, True, True)
    ] * len(jobs)
    return [tuple(row) for row in await connection.fetch(KEPT, [answer.id for answer in answers])]


async def test_they_are_kept_like_others(store: PostgresStore, backend: PostgresBackend) -> None:
    connection = await asyncpg.connect(backend.dsn)
    other = replace(MAIL, params=LETTERS[0].params, priority=0)
    assert rows.are_alike(LETTERS)
    assert not rows.are_alike([*LETTERS, other])
    usual = await kept(connection, store, [*LETTERS, other])
    alike = await kept(connection, store, LETTERS)
    tally = await connection.fetchval("SELECT sum(n) FROM tenure.tally WHERE state = 'queued'")
    await connection.close()
    assert alike == [row for row in usual if row[2] != usual[-1][2]]
    assert all(agree for *_, agree in alike)
    assert tally == 7


async def test_they_stand_in_line_as_they_were_given(store: PostgresStore) -> None:
    jobs = [NewJob(definition="mail", params=Document(f'{{"n":{n}}}')) for n in range(500)]
    answers = await store.enqueue(jobs)
    assert [answer.id for answer in answers] == sorted(answer.id for answer in answers)
    claimed = await claim(store, lines=[Line("default", "mail")], limit=500)
    assert [one.params for one in claimed] == [job.params for job in jobs]
    assert [one.lease.job for one in claimed] == [answer.id for answer in answers]


async def test_whatever_their_params_say_they_are_told_apart(store: PostgresStore) -> None:
    """They are sent as one text, separated by a character that JSON text cannot contain."""
    texts = ["", "\x1e", "\x1e\x1f\n", '"}\x1e{"', "\\", "\\u001e", "\u2028", "ä", "{", "NULL", ","]
    jobs = [NewJob(definition="mail", params=write({"text": text})) for text in texts]
    assert rows.are_alike(jobs)
    await store.enqueue(jobs)
    claimed = await claim(store, lines=[Line("default", "mail")], limit=len(jobs))
    assert [read(one.params) for one in claimed] == [{"text": text} for text in texts]


async def test_a_line_that_is_gone_is_made_anew(store: PostgresStore, backend: PostgresBackend) -> None:
    """The database was restored while a process has the line cached."""
    await store.enqueue(LETTERS)
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("UPDATE tenure.line SET queue = 'other'")
    await connection.close()
    answers = await store.enqueue(LETTERS)
    found = [await store.get(answer.id) for answer in answers]
    assert [job and job.queue for job in found] == ["slow"] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"key": "a"},
        {"id": uuid4()},
        {"tags": ("red",)},
        {"limits": (Limit("tenant", "anna"),)},
        {"hold": True},
        {"delay": timedelta(seconds=1)},
        {"queue": "fast"},
        {"priority": 1},
        {"policy": Policy()},
        {"parent": None},
        {"namespace": "other"},
        {"version": 3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_else_is_said_of_one_tells_it_apart(change: dict[str, Any]) -> None:
    changed = replace(LETTERS[1], **change)
    assert not rows.are_alike([*LETTERS, changed])
    if change.keys() & {"key", "id", "tags", "limits", "hold", "delay"}:
        assert not rows.are_alike([changed, changed])
