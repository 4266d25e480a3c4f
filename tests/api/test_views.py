"""The objects that operators see have the names that they were promised, and hold what is on record."""

import json
from datetime import timedelta
from typing import Any

import msgspec

from tenure.api import views
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    EVERY_JOB,
    claim,
    enqueue_one,
    found,
    job_in,
    one_in_each_state,
    report,
    seconds,
    settle,
    unrecoverable,
)

LISTED = """
jobId namespace definitionKey definitionVersion status attempts maxAttempts priority queue tags idempotencyKey
parentId replayOf createdAt updatedAt scheduledAt queuedAt startedAt finishedAt asideSince
"""
ALONE = """
params result progress errorSummary heartbeatAt leaseExpiresAt workerId cancelRequestedAt createdBy
concurrencyKeys
"""


def _read(view: object) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(view))
    return decoded


async def test_a_job_has_every_field_in_every_state(store: Store) -> None:
    """S1.27, S1.28, S1.29: under the names of the interface."""
    for state, job in (await one_in_each_state(store)).items():
        shown = _read(views.job_detail(await found(store, job)))
        assert sorted(shown) == sorted((LISTED + ALONE).split())
        assert (shown["jobId"], shown["status"], shown["definitionKey"]) == (str(job), state, state)


async def test_a_list_has_the_same_fields_without_documents_and_owner(store: Store) -> None:
    job = await enqueue_one(store, tags=("vip",), delay=seconds(60))
    shown = _read(views.job_page(await store.page(EVERY_JOB)))
    assert shown["nextCursor"] is None
    alone = _read(views.job_detail(await found(store, job)))
    assert shown["items"] == [{name: alone[name] for name in LISTED.split()}]


async def test_times_are_in_utc_and_the_next_time_of_a_job_is_when_it_is_scheduled(
    store: Store, clock: Clock
) -> None:
    job = await enqueue_one(store, delay=seconds(60))
    shown = _read(views.job_detail(await found(store, job)))
    assert shown["createdAt"] == msgspec.to_builtins(clock.now)
    assert shown["scheduledAt"] == msgspec.to_builtins(clock.now + seconds(60))
    assert shown["createdAt"].endswith("Z")


async def test_an_error_is_summed_up_without_its_trace(store: Store) -> None:
    """S1.29: errorSummary is text."""
    shown = _read(views.job_detail(await found(store, await job_in(store, State.FAILED))))
    assert shown["errorSummary"] == "ValueError: boom"


async def test_an_attempt_has_its_length_and_its_use(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    [running] = await store.attempts(job)
    assert _read(views.attempt_item(running))["durationSeconds"] is None
    await clock.advance(seconds(2.5))
    usage = Usage(exit_code=3, cpu=timedelta(milliseconds=1500), peak_memory=4096)
    await settle(store, [report(owned, unrecoverable(owned).outcome, usage)])
    [ended] = await store.attempts(job)
    shown = _read(views.attempt_item(ended))
    assert (shown["durationSeconds"], shown["cpuSeconds"], shown["peakMemoryBytes"]) == (2.5, 1.5, 4096)
    assert (shown["exitCode"], shown["signal"], shown["outcome"]) == (3, None, "unrecoverable")
    assert shown["error"] == {"kind": "ValueError", "message": "boom"}
