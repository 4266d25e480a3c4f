"""The worker protocol: who holds the lease speaks for the attempt, and nobody else does."""

from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, enqueue_one, found, lines_of, path_of, seconds, state_of
from tests.surfaces.http.http_server import Api
from tests.surfaces.http.http_worker import BOOM, Leased, add, ask, is_lost, lease, one


async def test_a_worker_is_told_all_that_it_needs_to_run_a_job(api: Api, store: Store) -> None:
    """S1.56, S1.57: who owns it, for how long, which attempt it is, and what it is given."""
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    job = await add(api, params={"to": "ada"}, timeoutSeconds=60, extra={"headers": {"traceparent": trace}})
    [held] = await lease(api, leaseSeconds=20)
    assert held.lease | {"token": ""} == {
        "jobId": job,
        "token": "",
        "definitionKey": "mail",
        "definitionVersion": 1,
        "queue": "default",
        "namespace": "default",
        "params": {"to": "ada"},
        "attempt": 1,
        "maxAttempts": 3,
        "startedAt": "2030-01-01T12:00:00Z",
        "timeoutSeconds": 60.0,
        "graceSeconds": 10.0,
        "deadline": "2030-01-01T12:01:00Z",
        "leaseExpiresAt": "2030-01-01T12:00:20Z",
        "leaseSeconds": 20.0,
        "traceparent": trace,
    }
    shown = (await api.get(f"/v1/jobs/{job}")).json
    assert (shown["status"], shown["workerId"], shown["leaseExpiresAt"]) == (
        "running",
        "node-1@http",
        held.lease["leaseExpiresAt"],
    )


async def test_a_worker_that_sends_no_heartbeats_holds_its_job_for_the_lock_timeout(
    api: Api, store: Store, clock: Clock
) -> None:
    """S2.34: ten minutes, and only for a worker that says so; then the job is another's."""
    job = await add(api)
    [held] = await lease(api, heartbeats=False)
    assert held.lease["leaseSeconds"] == 600
    await clock.advance(seconds(599))
    assert await store.reap(10) == []
    await clock.advance(seconds(2))
    assert [step.job for step in await store.reap(10)] == [UUID(job)]
    assert is_lost(await held.call("complete", result=1))


async def test_a_length_that_is_asked_for_goes_before_the_lock_timeout(api: Api, store: Store) -> None:
    for _ in range(2):
        await add(api)
    [held] = await lease(api, heartbeats=False, leaseSeconds=900)
    assert held.lease["leaseSeconds"] == 900
    [held] = await lease(api, heartbeats=True)
    assert held.lease["leaseSeconds"] == 30


async def test_success_is_reported_once_and_may_be_said_again(api: Api, store: Store) -> None:
    """An answer that was lost is no reason to be told that the work was in vain."""
    held = await one(api, store)
    replies = [await held.call("complete", result={"sent": [1, 2.50]}) for _ in range(2)]
    assert [(reply.status, reply.json) for reply in replies] == [
        (200, {"jobId": held.job, "status": "succeeded"})
    ] * 2
    assert (await api.get(f"/v1/jobs/{held.job}/result")).json["result"] == {"sent": [1, 2.5]}
    assert await path_of(store, UUID(held.job)) == ["queued", "started", "succeeded"]
    for other in ("fail", "release", "heartbeat"):
        assert is_lost(await held.call(other, **({"error": BOOM} if other == "fail" else {}))), other


async def test_a_failure_is_retried_as_the_job_says(api: Api, store: Store, clock: Clock) -> None:
    """S1.60: after the backoff, until attempts are used up; said again, it counts once."""
    held = await one(api, store, policy=Policy(max_attempts=2))
    for _ in range(2):
        assert (await held.call("fail", error=BOOM)).json["status"] == "retrying"
    job = await found(store, UUID(held.job))
    assert (job.failures, job.error and job.error.kind) == (1, "SmtpError")
    assert job.due_at is not None
    assert seconds(2) <= job.due_at - START <= seconds(3)
    await clock.advance(seconds(3))
    await store.promote(10)
    [again] = await lease(api)
    assert (again.lease["attempt"], again.job) == (2, held.job)
    assert is_lost(await held.call("complete"))
    assert (await again.call("fail", error=BOOM)).json["status"] == "failed"
    shown = (await api.get(f"/v1/jobs/{held.job}/attempts")).json["items"]
    assert [item["error"]["message"] for item in shown] == ["no route"] * 2


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        ({"retryable": False}, "failed"),
        ({"retryable": True}, "retrying"),
        ({"retryAfterSeconds": 90}, "retrying"),
        ({}, "failed"),
    ],
)
async def test_the_worker_may_say_whether_to_try_again(
    api: Api, store: Store, extra: dict[str, object], wanted: str
) -> None:
    """What it leaves open the definition's lists decide, by the type of the error."""
    held = await one(api, store, policy=Policy(retry=RetryPolicy(fatal_on=("SmtpError",))))
    assert (await held.call("fail", error=BOOM, **extra)).json["status"] == wanted
    if "retryAfterSeconds" in extra:
        assert (await found(store, UUID(held.job))).due_at == START + seconds(90)


async def test_of_a_long_error_as_much_is_kept_as_there_is_room_for(api: Api, store: Store) -> None:
    """Whatever went wrong, the worker can tell it."""
    held = await one(api, store)
    error = {"type": "E", "message": "why" + "x" * 20_000, "traceback": "x" * 100_000 + "here"}
    assert (await held.call("fail", error=error)).status == 200
    [shown] = (await api.get(f"/v1/jobs/{held.job}/attempts")).json["items"]
    message, trace = shown["error"]["message"], shown["error"]["traceback"]
    assert (message[:3], len(message), trace[-4:], len(trace)) == ("why", 8_192, "here", 65_536)


async def test_a_job_given_back_costs_no_attempt(api: Api, store: Store) -> None:
    held = await one(api, store)
    for _ in range(2):
        assert (await held.call("release")).json == {"jobId": held.job, "status": "queued"}
    [again] = await lease(api)
    assert (again.job, again.lease["attempt"]) == (held.job, 1)
    assert is_lost(await held.call("complete"))
    assert (await again.call("complete")).status == 200


async def test_a_job_that_must_not_run_twice_is_given_back_only_unstarted(api: Api, store: Store) -> None:
    held = await one(api, store, policy=Policy(on_lost=OnLost.BURY))
    assert (await held.call("release", started=False)).json["status"] == "queued"
    [again] = await lease(api)
    assert (await again.call("release")).json["status"] == "buried"


async def test_a_lease_is_kept_by_heartbeats_and_lost_without(api: Api, store: Store, clock: Clock) -> None:
    """S0.61, S0.62, S1.58: late is late, even before the reaper came; then another worker has it."""
    held = await one(api, store)
    await clock.advance(seconds(29))
    kept = (await held.call("heartbeat", progress={"fraction": 0.5, "message": "half"})).json
    assert kept == {
        "jobId": held.job,
        "leaseExpiresAt": "2030-01-01T12:00:59Z",
        "leaseSeconds": 30.0,
        "stop": None,
        "drain": False,
    }
    shown = (await api.get(f"/v1/jobs/{held.job}")).json
    assert shown["progress"] == {"fraction": 0.5, "message": "half"}
    await clock.advance(seconds(31))
    late = {"heartbeat": {}, "complete": {}, "fail": {"error": BOOM}, "release": {}}
    for verb, body in late.items():
        assert is_lost(await held.call(verb, **body)), verb
    await store.reap(10)
    [new] = await lease(api, "node-2")
    assert new.job == held.job
    for verb, body in late.items():
        assert is_lost(await held.call(verb, **body)), verb
    assert await state_of(store, UUID(held.job)) is State.RUNNING
    assert (await new.call("complete")).status == 200


async def test_each_job_has_a_lease_of_its_own(api: Api, store: Store, clock: Clock) -> None:
    """Jobs that are claimed together are kept and lost apart."""
    for _ in range(3):
        await enqueue_one(store)
    held = await lease(api, limit=2)
    assert len({one.lease["token"] for one in held}) == 2
    await clock.advance(seconds(20))
    assert (await held[0].call("heartbeat")).status == 200
    await clock.advance(seconds(20))
    assert (await held[0].call("heartbeat")).status == 200
    assert is_lost(await held[1].call("heartbeat"))


async def test_nobody_speaks_for_an_attempt_by_another_token(api: Api, store: Store) -> None:
    held = await one(api, store)
    fence, _, worker = held.lease["token"].partition(".")
    for token in (f"{int(fence) + 1}.{worker}", f"{fence}.node-2", f"{'9' * 18}.{worker}"):
        assert is_lost(await held.call("complete", token=token)), token
    for malformed in ("", "x", f"0.{worker}", f"{fence}.", 7):
        assert (await held.call("complete", token=malformed)).kind == "validation", malformed
    assert (await held.call("complete")).status == 200


async def test_a_worker_of_tenures_own_is_not_spoken_for(api: Api, store: Store) -> None:
    """Whatever name somebody gives itself."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, "a")
    held = Leased(api, {"jobId": str(job), "token": f"{claimed.lease.fence}.a"}, {})
    for verb in ("complete", "heartbeat", "release"):
        assert is_lost(await held.call(verb))
    assert await state_of(store, job) is State.RUNNING


async def test_lines_of_a_log_come_with_heartbeats_and_may_be_sent_again(api: Api, store: Store) -> None:
    held = await one(api, store)
    first, second = {"n": 1, "text": "hello"}, {"n": 2, "text": "oh", "level": "error"}
    for logs in ([first], [{**first, "text": "other"}, second]):
        assert (await held.call("heartbeat", logs=logs)).status == 200
    lines = [(line.n, line.at, line.level, line.text) for line in await lines_of(store, UUID(held.job))]
    assert lines == [(1, START, "info", "hello"), (2, START, "error", "oh")]
    assert (await held.call("heartbeat", logs=[{"n": 1025, "text": ""}])).kind == "validation"


async def test_one_key_has_so_many_names_of_workers(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is kept for a day, and shown to everybody."""
    monkeypatch.setattr("tenure.engine.client.remote_leases.MOST_NAMES", 2)
    for name in ("a", "b", "a"):
        assert (await ask(api, name)).status == 200
    reply = await ask(api, "c")
    assert (reply.status, reply.kind) == (422, "validation")
    assert reply.json["errors"][0]["pointer"] == "/workerId"
    assert (await api.call("DELETE", "/v1/workers/a")).status == 200
    assert (await ask(api, "c")).status == 200


async def test_a_worker_is_seen_beside_the_others_and_can_be_asked_to_drain(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.engine.client.remote_leases.INTRODUCED_FOR", -1.0)
    await enqueue_one(store)
    [held] = await lease(api, limit=1)
    await lease(api, limit=4)
    [shown] = (await api.get("/v1/workers")).json["items"]
    assert (shown["workerId"], shown["status"], shown["slots"], shown["running"]) == (
        "node-1@http",
        "ready",
        4,
        1,
    )
    assert (await api.post(f"/v1/workers/{shown['workerId']}/drain")).status == 202
    assert (await held.call("heartbeat")).json["drain"] is True
    await enqueue_one(store)
    assert (await ask(api, wait=30)).json == {"leases": [], "waitedSeconds": 0.0, "drain": True}


async def test_what_cannot_be_taken_is_told_by_its_name(api: Api, store: Store) -> None:
    held = await one(api, store)
    refused = {
        "/workerId": await ask(api, ""),
        "/limit": await ask(api, limit=101),
        "/definitions": await ask(api, definitions=[]),
        "/result": await held.call("complete", result="x" * 300_000),
        "/error/type": await held.call("fail", error={"type": "a\nb"}),
        "/error": await held.call("fail"),
        "/progress/fraction": await held.call("heartbeat", progress={"fraction": 2}),
    }
    for pointer, reply in refused.items():
        assert (reply.status, reply.kind) == (422, "validation"), pointer
        assert [fault["pointer"] for fault in reply.json["errors"]] == [pointer]
    too_long = await ask(api, wait=31)
    assert [fault["parameter"] for fault in too_long.json["errors"]] == ["waitSeconds"]
    unknown = await ask(api, definitions=[{"definitionKey": "nope"}])
    assert (unknown.status, unknown.kind) == (422, "unknown-definition")
    reserved = await ask(api, definitions=[{"definitionKey": "system.cancel"}])
    assert reserved.status == 422
    assert (await api.post(f"/v1/leases/{UUID(int=7)}/complete", {"token": "1.a"})).status == 404
    assert not api.bugs


async def test_what_is_asked_for_is_what_is_claimed(api: Api, store: Store) -> None:
    """By definition in its own queue or in others; by queue every definition of its own there."""
    await store.enqueue(
        [
            NewJob(definition="mail"),
            NewJob(definition="mail", queue="slow"),
            NewJob(definition="mail", version=2),
            NewJob(definition="bill"),
        ]
    )
    orders: dict[str, dict[str, Any]] = {
        "other queue": {"queues": ["slow"], "definitions": [{"definitionKey": "mail"}]},
        "own queue": {"definitions": [{"definitionKey": "mail"}]},
        "no such queue": {"queues": ["slow"]},
        "queue": {"queues": ["default"]},
    }
    claimed = {
        name: [(one.lease["definitionKey"], one.lease["queue"]) for one in await lease(api, limit=9, **order)]
        for name, order in orders.items()
    }
    assert claimed == {
        "other queue": [("mail", "slow")],
        "own queue": [("mail", "default")],
        "no such queue": [],
        "queue": [("bill", "default")],
    }
