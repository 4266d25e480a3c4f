"""The lease is the only leash: it bounds an attempt that takes too long, or is asked to stop."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.outcome import Ending
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import found, path_of, seconds, state_of
from tests.surfaces.http.http_server import Api
from tests.surfaces.http.http_worker import BOOM, is_lost, lease, one


async def test_a_job_that_is_asked_to_stop_has_its_grace_and_no_more(
    api: Api, store: Store, clock: Clock
) -> None:
    """S1.61: the worker is told; the lease is not prolonged beyond the grace, nor is it made shorter."""
    held = await one(api, store, policy=Policy(grace=seconds(10)))
    await clock.advance(seconds(25))
    await api.post(f"/v1/jobs/{held.job}/cancel")
    for _ in range(2):
        kept = (await held.call("heartbeat")).json
        assert (kept["stop"], kept["leaseExpiresAt"]) == ("cancelled", "2030-01-01T12:00:35Z")
        await clock.advance(seconds(5))
    assert is_lost(await held.call("heartbeat"))
    await store.reap(10)
    assert await state_of(store, UUID(held.job)) is State.CANCELLED


async def test_a_lease_in_its_last_moment_is_taken_to_be_over(api: Api, store: Store, clock: Clock) -> None:
    """Less is left of it than the store can prolong one by."""
    held = await one(api, store, policy=Policy(timeout=seconds(20), grace=seconds(0)))
    await clock.advance(seconds(20) - timedelta(microseconds=500))
    assert is_lost(await held.call("heartbeat"))


async def test_work_that_was_done_before_it_could_be_stopped_counts(api: Api, store: Store) -> None:
    """The worker had not heard of the request; said again, it says the same."""
    held = await one(api, store)
    assert (await api.post(f"/v1/jobs/{held.job}/cancel")).status == 202
    for _ in range(2):
        assert (await held.call("complete", result=1)).json["status"] == "succeeded"
    assert await path_of(store, UUID(held.job)) == ["queued", "started", "cancelling", "succeeded"]


@pytest.mark.parametrize("verb", ["release", "fail"])
async def test_a_worker_that_was_asked_to_stop_says_that_it_has(api: Api, store: Store, verb: str) -> None:
    held = await one(api, store)
    await store.cancel([UUID(held.job)])
    body = {"error": BOOM} if verb == "fail" else {}
    for _ in range(2):
        assert (await held.call(verb, **body)).json["status"] == "cancelled"
    [attempt] = await store.attempts(UUID(held.job))
    assert attempt.ending is (Ending.RECOVERABLE if verb == "fail" else Ending.STOPPED)


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
async def test_an_attempt_that_takes_too_long_is_told_to_stop_and_ends_as_timed_out(
    api: Api, store: Store, clock: Clock, verb: str
) -> None:
    """S4.23, S4.35: whatever it says of itself after its time was over."""
    held = await one(api, store, policy=Policy(timeout=seconds(40), grace=seconds(10)))
    await clock.advance(seconds(25))
    kept = (await held.call("heartbeat")).json
    assert (kept["stop"], kept["leaseExpiresAt"], kept["leaseSeconds"]) == (None, "2030-01-01T12:00:50Z", 25)
    await clock.advance(seconds(15))
    assert (await held.call("heartbeat")).json["stop"] == "timed-out"
    refused = await held.call(verb, **({"error": BOOM} if verb == "fail" else {}))
    assert is_lost(refused)
    assert refused.json["jobStatus"] == "retrying"
    job = await found(store, UUID(held.job))
    assert job.error is not None
    assert job.error.kind == "TimedOut"


async def test_a_silent_worker_holds_a_short_job_no_longer_than_it_may_take(
    api: Api, store: Store, clock: Clock
) -> None:
    """However long a lease it has asked for."""
    await store.enqueue([NewJob(definition="mail", policy=Policy(timeout=seconds(5), grace=seconds(1)))])
    [held] = await lease(api, leaseSeconds=600)
    assert (held.lease["leaseExpiresAt"], held.lease["leaseSeconds"]) == ("2030-01-01T12:00:06Z", 6)
    await clock.advance(seconds(6))
    assert [moved.target for moved in await store.reap(10)] == [State.QUEUED]
