"""The read-only views, for use in a database shell."""

import json
from datetime import UTC, datetime
from typing import Any

import apsw
import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.reports.operations import Definition
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import DueTick, Firing, NewSchedule, ScheduledJob, TickOutcome
from tenure.core.values.documents import EMPTY, Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import (
    claim,
    columns_of,
    enqueue_one,
    found,
    job_in,
    note,
    one_in_each_state,
    seconds,
    trail,
)

COLUMNS = {
    "jobs": """id definition_key definition_version params status priority attempts max_attempts scheduled_at
        queued_at started_at finished_at heartbeat_at lease_expires_at cancel_requested_at worker_id
        idempotency_key error_summary""",
    "job_events": "id job_id event_type at payload",
    "schedules": """id definition_key definition_version cron params priority enabled last_enqueued_at""",
    "job_definitions": "key version default_max_attempts timeout_seconds concurrency_limit",
}


async def seen(backend: Backend, view: str, *columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    return await backend.sql(f"SELECT {', '.join(columns)} FROM tenure.{view} WHERE {where}")


async def test_a_view_has_the_columns_that_everybody_expects(backend: Backend) -> None:
    """S1.37, S1.39, S1.44: by the names in which people ask."""
    for view, columns in COLUMNS.items():
        assert set(columns.split()) <= set(await columns_of(backend, f"tenure.{view}"))


async def test_a_job_is_seen_as_it_was_asked_for(store: Store, backend: Backend) -> None:
    """S1.39: what nobody asked for has its default."""
    job = await enqueue_one(store)
    other = await enqueue_one(
        store, "post", version=3, priority=7, key="k", params=Document("[1]"), policy=Policy(max_attempts=9)
    )
    names = (
        "definition_key",
        "definition_version",
        "status",
        "priority",
        "attempts",
        "max_attempts",
        "idempotency_key",
    )
    assert await seen(backend, "jobs", *names, where=f"id = '{job}'") == [
        ("mail", 1, "queued", 0, 0, 3, None)
    ]
    assert await seen(backend, "jobs", *names, where=f"id = '{other}'") == [
        ("post", 3, "queued", 7, 0, 9, "k")
    ]
    assert [str(params) for (params,) in await seen(backend, "jobs", "params", where="priority = 7")] == [
        "[1]"
    ]


async def test_every_step_shows(store: Store, backend: Backend, clock: Clock) -> None:
    """S1.39: attempts, owner and times follow what the job does."""
    async for verb, jobs in lives(store, clock):
        rows = {
            str(row[0]): row[1:]
            for row in await seen(
                backend, "jobs", "id", "attempts", "worker_id", "started_at IS NULL", "finished_at IS NULL"
            )
        }
        assert rows.keys() == {str(job) for job in jobs}, verb
        for each in jobs:
            job = await found(store, each)
            shown = (job.attempt, job.worker, job.started_at is None, job.finished_at is None)
            assert rows[str(each)] == shown, verb


async def test_a_state_has_its_own_word(store: Store, backend: Backend) -> None:
    """S1.39, S1.51: the words that lists are asked with."""
    jobs = await one_in_each_state(store)
    shown = {str(job): word for job, word in await seen(backend, "jobs", "id", "status")}
    for state in (State.QUEUED, State.RUNNING, State.SUCCEEDED, State.FAILED, State.CANCELLED):
        assert shown[str(jobs[state])] == state.value


async def test_a_failure_is_summed_up(store: Store, backend: Backend) -> None:
    """S1.39: without a look at its attempts."""
    await job_in(store, State.FAILED)
    [(summary,)] = await seen(backend, "jobs", "error_summary")
    assert "boom" in summary


async def test_who_owns_a_job_shows_while_it_does(store: Store, backend: Backend, clock: Clock) -> None:
    """S1.39: heartbeat and lease beside the name of the worker."""
    await enqueue_one(store)
    owner = ("worker_id", "heartbeat_at IS NOT NULL", "lease_expires_at IS NOT NULL")
    assert [tuple(map(bool, row)) for row in await seen(backend, "jobs", *owner)] == [(False, False, False)]
    await claim(store, "ann", lease_for=seconds(30))
    [(worker, beats, leased)] = await seen(backend, "jobs", *owner)
    assert (worker, bool(beats), bool(leased)) == ("ann", True, True)


async def test_events_are_seen_from_the_creation_on(store: Store, backend: Backend) -> None:
    """S1.44: one row for each, in order, and no two with one id."""
    jobs = await one_in_each_state(store)
    rows = await seen(backend, "job_events", "id", "event_type", "job_id", where="true ORDER BY id")
    for state, job in jobs.items():
        types = [type_ for _, type_, shown in rows if str(shown) == str(job)]
        assert types == [event.type for event in await store.events(job)], state
    assert {str(row[2]) for row in rows} == {str(job) for job in jobs.values()}
    assert len({row[0] for row in rows}) == len(rows)


async def test_a_note_is_seen_with_what_it_says(store: Store, backend: Backend) -> None:
    """S1.44: the payload of an event of the handler's own making is its own."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note("sent", '{"to":"ann"}'), note("bare"))])
    rows = await seen(backend, "job_events", "event_type", "payload", where=f"job_id = '{job}' ORDER BY id")
    payloads = {type_: json.loads(str(payload)) for type_, payload in rows}
    assert list(payloads) == ["queued", "started", "custom:sent", "custom:bare"]
    assert payloads["custom:sent"] == {"to": "ann"}
    assert payloads["custom:bare"]["actor"] == "a"


async def test_a_definition_without_a_word_of_its_own_has_the_defaults(
    store: Store, backend: Backend
) -> None:
    """S1.37: three attempts of an hour, and no limit."""
    await store.put_definitions([Definition(key="mail", version=2, spec=EMPTY)])
    assert await seen(backend, "job_definitions", *COLUMNS["job_definitions"].split()) == [
        ("mail", 2, 3, 3600, 0)
    ]


async def test_a_definition_is_seen_with_what_its_code_says(store: Store, backend: Backend) -> None:
    """S1.37: attempts, seconds and how many at once."""
    spec = Document('{"concurrency":2,"max_attempts":5,"timeout_seconds":60}')
    await store.put_definitions([Definition(key="mail", version=1, spec=spec)])
    assert await seen(backend, "job_definitions", *COLUMNS["job_definitions"].split()) == [
        ("mail", 1, 5, 60, 2)
    ]


async def test_nothing_can_be_written_through_a_view(store: Store, backend: Backend) -> None:
    """S1.39: they are there to be read."""
    await job_in(store, State.SUCCEEDED)
    await store.put_definitions([Definition(key="mail", version=1, spec=EMPTY)])
    rule = Recurrence(cron="@daily", starts_at=datetime(2020, 1, 1, tzinfo=UTC))
    await store.add_schedule(
        NewSchedule(id="daily", job=ScheduledJob(definition="mail"), recurrence=rule), next_at=None
    )
    for view, columns in COLUMNS.items():
        [column, *_] = columns.split()
        for text in (f"DELETE FROM tenure.{view}", f"UPDATE tenure.{view} SET {column} = {column}"):
            with pytest.raises((apsw.Error, asyncpg.PostgresError)):
                await backend.sql(text)
        assert await backend.sql(f"SELECT 1 FROM tenure.{view}")


async def test_a_schedule_is_seen_with_what_it_makes_and_when_it_last_did(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """S1.45: definition, expression, params, priority, whether it is enabled, and its last job."""
    job = ScheduledJob(definition="mail", version=3, params=Document('{"to":"ada"}'), priority=7)
    rule = Recurrence(cron="* * * * *", starts_at=datetime(2020, 1, 1, tzinfo=UTC))
    new = NewSchedule(id="often", job=job, recurrence=rule)
    tick = rule.next_after(await store.now())
    made = await store.add_schedule(new, next_at=tick)
    assert tick is not None
    assert made is not None
    await store.add_schedule(
        NewSchedule(id="bare", job=ScheduledJob(definition="post"), recurrence=rule, is_paused=True),
        next_at=tick,
    )
    await clock.advance(seconds(61))
    fired = DueTick(at=tick, outcome=TickOutcome.FIRED, job=NewJob(definition="mail"))
    await store.fire(
        [
            Firing(
                namespace="default",
                schedule="often",
                revision=made.revision,
                expected=tick,
                next_at=tick + seconds(60),
                ticks=[fired],
            )
        ]
    )
    names = ("id", "definition_key", "definition_version", "cron", "params", "priority", "enabled")
    rows = {row[0]: row[1:] for row in await seen(backend, "schedules", *names)}
    assert rows["often"][:3] == ("mail", 3, "* * * * *")
    assert (json.loads(rows["often"][3]), rows["often"][4:]) == ({"to": "ada"}, (7, True))
    assert rows["bare"] == ("post", None, "* * * * *", "{}", 0, False)
    last = {row[0]: row[1] for row in await seen(backend, "schedules", "id", "last_enqueued_at")}
    assert last["bare"] is None
    moment = last["often"]
    assert (datetime.fromisoformat(moment) if isinstance(moment, str) else moment) == tick
