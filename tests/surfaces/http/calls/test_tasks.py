"""The task API: tasks now and later, in their own words, until they end or are aborted."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.policy import OnLost
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    EVERY_JOB,
    claim,
    found,
    recoverable,
    settle,
    succeeded,
    suspended,
    unrecoverable,
)
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply

TASK = {"type": "mail", "payload": {"to": "ada"}}


async def _create(api: Api, **more: object) -> str:
    reply = await api.post("/tasks", {**TASK, **more})
    assert reply.status == 202, reply.json
    task: str = reply.json["taskId"]
    return task


async def _state(api: Api, task: str) -> str:
    state: str = (await api.get(f"/tasks/{task}")).json["state"]
    return state


async def test_a_task_is_recorded_ready(api: Api, store: Store) -> None:
    """S4.20, S4.21, S4.22: a row when the answer comes, for whichever executor claims it."""
    reply = await api.post("/tasks", TASK)
    assert reply.status == 202
    task = reply.json["taskId"]
    assert reply.json == {"taskId": task, "state": "Ready"}
    assert reply.headers["location"] == f"/tasks/{task}"
    job = await found(store, UUID(task))
    assert (job.state, job.definition, job.params) == (State.QUEUED, "mail", '{"to":"ada"}')
    [claimed] = await claim(store)
    assert str(claimed.lease.job) == task


async def test_a_delayed_task_is_ready_when_its_time_has_come(api: Api, store: Store, clock: Clock) -> None:
    """S4.22, S4.4: by a delay or a time; that it was watched stands in its history."""
    delayed = await api.post("/tasks", {**TASK, "delaySeconds": 60})
    assert (delayed.status, delayed.json["state"]) == (202, "Delayed")
    assert (await api.post("/tasks", {**TASK, "runAt": "2031-01-01T00:00:00Z"})).json["state"] == "Delayed"
    for now in ({"delaySeconds": 0}, {"runAt": "2001-01-01T00:00:00Z"}):
        assert (await api.post("/tasks", {**TASK, **now})).json["state"] == "Ready", now
    await clock.advance(timedelta(seconds=61))
    await store.promote(10)
    task = delayed.json["taskId"]
    assert await _state(api, task) == "Ready"
    items = (await api.get(f"/v1/jobs/{task}/events?vocabulary=tasks")).json["items"]
    answer = [[item["sourceWord"], *item["throughWords"], item["targetWord"]] for item in items]
    assert answer == [[None, "New", "Delayed"], ["Delayed", "Watching", "Ready"]]


async def test_a_task_is_shown_with_its_times_and_its_failures(api: Api, store: Store, clock: Clock) -> None:
    """S4.25: and nothing of who ran it."""
    task = await _create(api, maxRetries=2, timeoutSeconds=7)
    shown = (await api.get(f"/tasks/{task}")).json
    assert shown.keys() == {"taskId", "type", "state", "createdAt", "reservedAt", "retryCount"}
    assert (shown["type"], shown["reservedAt"], shown["retryCount"]) == ("mail", None, 0)
    policy = (await found(store, UUID(task))).policy
    assert (policy.max_attempts, policy.timeout) == (2, timedelta(seconds=7))
    states = []
    for _ in range(2):
        [claimed] = await claim(store)
        states.append(await _state(api, task))
        await settle(store, [recoverable(claimed, timedelta(seconds=5))])
        states.append(await _state(api, task))
        await clock.advance(timedelta(seconds=6))
        await store.promote(10)
    assert states == ["Reserved", "Ready", "Reserved", "Aborted"]
    shown = (await api.get(f"/tasks/{task}")).json
    assert shown["retryCount"] == 2
    assert shown["reservedAt"] is not None


async def test_a_task_that_waits_is_aborted(api: Api, store: Store) -> None:
    """S4.19: ready, delayed, waiting for another attempt, or waiting inside of one."""
    failing, waiting = await _create(api), await _create(api)
    by_id = {str(claimed.lease.job): claimed for claimed in await claim(store)}
    later = timedelta(hours=1)
    await settle(store, [recoverable(by_id[failing], later), suspended(by_id[waiting], later)])
    for task in (failing, waiting, await _create(api), await _create(api, delaySeconds=60)):
        reply = await api.post(f"/tasks/{task}/abort")
        assert (reply.status, reply.json) == (202, {"taskId": task, "state": "Aborted"})
        assert (await found(store, UUID(task))).state is State.CANCELLED
    assert await claim(store) == []


async def test_a_task_that_runs_or_has_ended_or_is_held_is_not_aborted(api: Api, store: Store) -> None:
    """S4.19: the answer names its state, and nobody is asked to stop."""
    won, lost, runs, aborted = [await _create(api) for _ in range(4)]
    await api.post(f"/tasks/{aborted}/abort")
    by_id = {str(claimed.lease.job): claimed for claimed in await claim(store)}
    await settle(store, [succeeded(by_id[won]), unrecoverable(by_id[lost])])
    held = (await api.post("/v1/jobs", {"definitionKey": "mail", "hold": True})).json["jobId"]
    states = {won: "Success", lost: "Aborted", runs: "Reserved", aborted: "Aborted", held: "New"}
    for task, state in states.items():
        before = await store.get(UUID(task))
        reply = await api.post(f"/tasks/{task}/abort")
        assert (reply.status, reply.kind) == (409, "job-state")
        assert reply.json["detail"].startswith(f"the task is {state};")
        assert await store.get(UUID(task)) == before


async def test_a_key_aborts_what_it_asked_for(api: Api, store: Store) -> None:
    """Another's task is in no danger from a key that may only submit; operators stop any."""
    own, other, operator = [await make(store, scope) for scope in ("submit", "submit", "operate")]
    tasks = [(await api.post("/tasks", TASK, **bearing(own))).json["taskId"] for _ in range(2)]

    async def abort(task: str, key: str) -> Reply:
        return await api.post(f"/tasks/{task}/abort", **bearing(key))

    refused = await abort(tasks[0], other)
    assert (refused.status, refused.kind) == (403, "insufficient-scope")
    assert (await abort(tasks[0], own)).status == 202
    assert (await abort(tasks[1], operator)).status == 202


async def test_a_task_that_must_not_run_twice_is_buried_with_its_worker(
    api: Api, store: Store, clock: Clock
) -> None:
    """S4.8, S4.18, S4.38: as its sender asks, whatever its definition says."""
    task = await _create(api, onLost="bury")
    policy = (await found(store, UUID(task))).policy
    assert (policy.on_lost, policy.max_attempts) == (OnLost.BURY, 1)
    await claim(store, lease_for=timedelta(seconds=5))
    assert await _state(api, task) == "Reserved"
    await clock.advance(timedelta(seconds=6))
    await store.reap(10)
    assert await _state(api, task) == "Buried"
    refused = await api.post(f"/tasks/{task}/abort")
    assert (refused.status, refused.json["detail"][:18]) == (409, "the task is Buried")


BAD = {
    "no type": ({"payload": {}}, "validation", "/type"),
    "an unknown type": ({**TASK, "type": "nope"}, "unknown-definition", "/type"),
    "a reserved type": ({**TASK, "type": "system.x"}, "validation", "/type"),
    "a payload that does not fit": ({**TASK, "payload": {"to": 5}}, "invalid-params", "/payload/to"),
    "two times": (
        {**TASK, "delaySeconds": 1, "runAt": "2030-01-01T00:00:00Z"},
        "validation",
        "/delaySeconds",
    ),
    "a negative delay": ({**TASK, "delaySeconds": -1}, "validation", "/delaySeconds"),
    "a time without a zone": ({**TASK, "runAt": "2030-01-01T00:00:00"}, "datetime", "/runAt"),
    "a time too far ahead": ({**TASK, "runAt": "2099-01-01T00:00:00Z"}, "datetime", "/runAt"),
    "no tries": ({**TASK, "maxRetries": 0}, "validation", "/maxRetries"),
    "too many tries": ({**TASK, "maxRetries": 101}, "validation", "/maxRetries"),
    "too short a time": ({**TASK, "timeoutSeconds": 0.5}, "validation", "/timeoutSeconds"),
    "no repetition": ({**TASK, "repeat": None}, "validation", "/repeat"),
    "a key for a task that does not repeat": (
        {**TASK, "idempotencyKey": "a"},
        "idempotency-key",
        "/idempotencyKey",
    ),
    "an unknown answer to a loss": ({**TASK, "onLost": "weep"}, "validation", "/onLost"),
    "many tries of what must not run twice": (
        {**TASK, "onLost": "bury", "maxRetries": 2},
        "validation",
        "/maxRetries",
    ),
    "a state": ({**TASK, "state": "Success"}, "unknown-field", "/state"),
}


async def test_a_task_that_cannot_be_taken_is_refused_and_leaves_nothing(api: Api, store: Store) -> None:
    for name, (body, kind, pointer) in BAD.items():
        reply = await api.post("/tasks", body)
        assert (reply.status, reply.kind) == (422, kind), (name, reply.json)
        assert reply.json["errors"][0]["pointer"] == pointer, name
    assert not (await store.page(EVERY_JOB)).jobs
