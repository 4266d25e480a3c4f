"""Tasks that repeat: delayed until their last firing, each of which is a task of its own."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.policy import OnLost
from tenure.core.schedule.schedule import ScheduleName
from tenure.storage.contract.store import Store
from tenure.surfaces.http.calls import repeats
from tests.engine.schedules.test_firer import Node
from tests.storage.clock import Clock
from tests.storage.verbs import EVERY_JOB, claim, found, seconds
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, Reply

TASK = {"type": "mail", "payload": {"to": "ada"}}


async def send(api: Api, repeat: Any, *, headers: dict[str, Any] | None = None, **more: Any) -> Reply:
    return await api.post("/tasks", {**TASK, "repeat": repeat, **more}, **(headers or {}))


async def repeating(api: Api, repeat: Any, **more: Any) -> str:
    reply = await send(api, repeat, **more)
    assert (reply.status, reply.json["state"]) == (202, "Delayed"), reply.json
    task: str = reply.json["taskId"]
    assert reply.headers["location"] == f"/tasks/{task}"
    return task


async def state(api: Api, task: str) -> str:
    word: str = (await api.get(f"/tasks/{task}")).json["state"]
    return word


async def made(store: Store, task: str) -> list[UUID]:
    """The tasks that a repetition has made, oldest first."""
    ticks = await store.ticks(ScheduleName("default", task))
    return [one.tick.job for one in reversed(ticks) if one.tick.job is not None]


async def test_a_repeated_task_is_delayed_and_each_firing_is_a_task_made_ready(
    api: Api, store: Store, clock: Clock
) -> None:
    """S4.3, S4.28, S4.29: three firings, each when it is due and not before; then it is a success."""
    task = await repeating(
        api, {"everySeconds": 60, "count": 3}, maxRetries=2, timeoutSeconds=7, onLost="retry"
    )
    node = Node(store)
    await node.fire()
    clones = await made(store, task)
    assert clones == []
    for round_ in (1, 2, 3):
        assert await state(api, task) == "Delayed"
        await clock.advance(seconds(60))
        await node.fire()
        clones = await made(store, task)
        assert len(clones) == round_
        assert task not in map(str, clones)
        assert await state(api, str(clones[-1])) == "Ready"
    shown = (await api.get(f"/tasks/{task}")).json
    assert shown.keys() == {"taskId", "type", "state", "createdAt", "reservedAt", "retryCount"}
    assert (shown["taskId"], shown["type"], shown["state"]) == (task, "mail", "Success")
    await clock.advance(seconds(600))
    await node.fire()
    assert await made(store, task) == clones
    assert {str(one.lease.job) for one in await claim(store)} == {str(one) for one in clones}
    job = await found(store, clones[0])
    assert (job.definition, job.params, job.policy.max_attempts) == ("mail", '{"to":"ada"}', 2)
    refused = await api.post(f"/tasks/{task}/abort")
    assert (refused.status, refused.json["detail"][:19]) == (409, "the task is Success")


async def test_a_repeated_task_ends_with_its_date(api: Api, store: Store, clock: Clock) -> None:
    """S4.29: by an expression in a zone, until a time; one that must not run twice hands that on."""
    until = (await store.now() + seconds(130)).isoformat()
    repeat = {"cron": "* * * * *", "timezone": "Europe/Berlin", "until": until}
    task = await repeating(api, repeat, onLost="bury")
    node = Node(store)
    for _ in range(4):
        await clock.advance(seconds(60))
        await node.fire()
    clones = await made(store, task)
    assert len(clones) == 2
    assert (await found(store, clones[0])).policy.on_lost is OnLost.BURY
    assert await state(api, task) == "Success"


async def test_a_repetition_begins_at_the_time_that_was_sent(api: Api, store: Store, clock: Clock) -> None:
    """S4.22: stored as delayed, and due first at the time of the delay, or at the one that was sent."""
    at = (await store.now() + seconds(30)).isoformat()
    hourly = {"everySeconds": 3600, "count": 1}
    tasks = [await repeating(api, hourly, delaySeconds=30), await repeating(api, hourly, runAt=at)]
    for wait, count in ((29, 0), (2, 1)):
        await clock.advance(seconds(wait))
        await Node(store).fire()
        assert [len(await made(store, task)) for task in tasks] == [count, count]


async def test_an_aborted_repetition_makes_no_more_tasks(api: Api, store: Store, clock: Clock) -> None:
    """S4.6, S4.19: what it has made stays; nothing that operators do to schedules brings it back."""
    task = await repeating(api, {"everySeconds": 60})
    node = Node(store)
    await clock.advance(seconds(60))
    await node.fire()
    aborted = await api.post(f"/tasks/{task}/abort")
    assert (aborted.status, aborted.json) == (202, {"taskId": task, "state": "Aborted"})
    again = await api.post(f"/tasks/{task}/abort")
    assert (again.status, again.json["detail"][:19]) == (409, "the task is Aborted")
    for path in ("pause", "resume"):
        assert (await api.post(f"/v1/schedules/{task}/{path}")).status == 200
    change = await api.call(
        "PATCH", f"/v1/schedules/{task}", {"cron": "@hourly"}, headers={"if-match": '"2"'}
    )
    assert (change.status, change.kind) == (409, "schedule-of-task")
    await clock.advance(seconds(600))
    await node.fire()
    [clone] = await made(store, task)
    assert (await state(api, task), await state(api, str(clone))) == ("Aborted", "Ready")


async def test_a_repetition_that_operators_pause_is_delayed(api: Api, store: Store, clock: Clock) -> None:
    """And one that has ended by itself is not made an aborted one by a pause."""
    task = await repeating(api, {"everySeconds": 60, "count": 1})
    await api.post(f"/v1/schedules/{task}/pause")
    assert await state(api, task) == "Delayed"
    await api.post(f"/v1/schedules/{task}/resume")
    await clock.advance(seconds(60))
    await Node(store).fire()
    await api.post(f"/v1/schedules/{task}/pause")
    assert await state(api, task) == "Success"


async def test_a_key_makes_one_repetition_however_often_it_is_sent(
    api: Api, store: Store, clock: Clock
) -> None:
    """The same content is answered with the first task, even one that has ended; other content is refused."""
    operator, acme = [
        bearing(await make(store, scope, namespace=namespace))
        for scope, namespace in (("operate", None), ("submit", "acme"))
    ]
    until = (await store.now() + seconds(90)).isoformat()
    repeat = {"everySeconds": 60, "until": until}
    replies = await asyncio.gather(
        *(send(api, repeat, idempotencyKey="k", delaySeconds=1, headers=operator) for _ in range(8))
    )
    assert {(one.status, one.json["state"]) for one in replies} == {(202, "Delayed")}
    [task] = {one.json["taskId"] for one in replies}
    for other in ({"everySeconds": 61, "until": until}, {"everySeconds": 60}):
        refused = await send(api, other, idempotencyKey="k", headers=operator)
        assert (refused.status, refused.kind) == (422, "idempotency-key-reused")
        assert task in refused.json["detail"]
    assert (
        await send(api, repeat, idempotencyKey="k", payload={"to": "bob"}, headers=operator)
    ).status == 422
    assert (await send(api, repeat, idempotencyKey="l", headers=operator)).json["taskId"] != task
    theirs = await send(api, repeat, idempotencyKey="k", headers=acme)
    assert (theirs.status, theirs.json["taskId"] != task) == (202, True)
    assert (await api.post(f"/tasks/{task}/abort", **operator)).status == 202
    late = await send(api, repeat, idempotencyKey="k", headers=operator)
    assert (late.status, late.json) == (202, {"taskId": task, "state": "Aborted"})


async def test_keys_see_and_abort_only_what_is_theirs(api: Api, store: Store, clock: Clock) -> None:
    """A key bound to definitions sends each task by itself; others keep to their namespace and their own."""
    own, other = [bearing(await make(store, "submit")) for _ in range(2)]
    acme = bearing(await make(store, "operate", namespace="acme"))
    bound = bearing(await make(store, "submit", definitions=("mail",)))
    refused = await send(api, {"everySeconds": 60}, headers=bound)
    assert (refused.status, refused.kind) == (403, "insufficient-scope")
    task = (await send(api, {"everySeconds": 60}, headers=own)).json["taskId"]
    for stranger in (acme, bound):
        assert (await api.get(f"/tasks/{task}", **stranger)).status == 404
        assert (await api.post(f"/tasks/{task}/abort", **stranger)).status == 404
    await clock.advance(seconds(60))
    await Node(store).fire()
    [clone] = await made(store, task)
    for one in (task, clone):
        assert (await api.post(f"/tasks/{one}/abort", **other)).status == 403
        assert (await api.post(f"/tasks/{one}/abort", **own)).status == 202


async def test_a_schedule_of_an_operator_is_no_task(api: Api) -> None:
    name = "0a1e11e0-125a-4d96-8ced-6335a24cb223"
    body = {"id": name, "definitionKey": "bill", "cron": "@daily"}
    assert (await api.post("/v1/schedules", body)).status == 201
    assert (await api.get(f"/tasks/{name}")).status == 404
    assert (await api.post(f"/tasks/{name}/abort")).status == 404


async def test_an_ended_repetition_is_forgotten_after_90_days(api: Api, store: Store, clock: Clock) -> None:
    ended, alive = [await repeating(api, {"cron": "@yearly"}) for _ in range(2)]
    await api.post(f"/tasks/{ended}/abort")
    await clock.advance(seconds(89 * 86_400))
    await store.tidy()
    assert await state(api, ended) == "Aborted"
    await clock.advance(seconds(2 * 86_400))
    await store.tidy()
    assert (await api.get(f"/tasks/{ended}")).status == 404
    assert await state(api, alive) == "Delayed"


@pytest.mark.parametrize(
    ("repeat", "pointer", "words"),
    [
        ({"everySeconds": 0}, "/repeat/everySeconds", ""),
        ({"everySeconds": -1}, "/repeat/everySeconds", ""),
        ({"everySeconds": 0.000001}, "/repeat/everySeconds", ""),
        ({"everySeconds": 1e300}, "/repeat/everySeconds", ""),
        ({"everySeconds": 60, "cron": "@daily"}, "/repeat", "exactly one of everySeconds and cron"),
        ({}, "/repeat", "exactly one of everySeconds and cron"),
        ({"cron": "0 0 0 * * *"}, "/repeat/cron", "has 6 fields; give five"),
        ({"cron": "@daily", "timezone": "Europe/Berlinn"}, "/repeat/timezone", "did you mean"),
        ({"cron": "@daily", "until": "2001-01-01T00:00:00Z"}, "/repeat/until", "has passed"),
        ({"cron": "@daily", "until": "tomorrow"}, "/repeat/until", ""),
        ({"everySeconds": 60, "count": 0}, "/repeat/count", ""),
        ({"everySeconds": 60, "count": -1}, "/repeat/count", ""),
        ({"everySeconds": 60, "count": 1.5}, "/repeat/count", ""),
        ("daily", "/repeat", ""),
    ],
)
async def test_a_repetition_that_makes_no_sense_is_refused_and_leaves_nothing(
    api: Api, store: Store, repeat: Any, pointer: str, words: str
) -> None:
    refused = await send(api, repeat)
    assert (refused.status, refused.kind) == (422, "validation")
    assert refused.json["errors"][0]["pointer"] == pointer
    assert words in refused.json["detail"]
    assert not (await store.page(EVERY_JOB)).jobs
    assert not await store.schedules()


async def test_the_task_of_a_repetition_is_checked_before_anything_is_kept(api: Api, store: Store) -> None:
    daily = {"cron": "@daily"}
    for more, kind, pointer in (
        ({"type": "nope"}, "unknown-definition", "/type"),
        ({"payload": {"to": 5}}, "invalid-params", "/payload/to"),
        ({"onLost": "bury", "maxRetries": 3}, "validation", "/maxRetries"),
        ({"idempotencyKey": "a\nb"}, "idempotency-key", "/idempotencyKey"),
        ({"delaySeconds": 1, "runAt": "2030-01-01T00:00:00Z"}, "validation", "/delaySeconds"),
        ({"runAt": "2099-01-01T00:00:00Z"}, "datetime", "/runAt"),
    ):
        refused = await send(api, daily, **more)
        assert (refused.status, refused.kind) == (422, kind), refused.json
        assert refused.json["errors"][0]["pointer"] == pointer
    assert not await store.schedules()


async def test_how_many_tasks_a_submitting_key_lets_repeat_is_bounded(
    api: Api, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By namespace; one that ends, or an operator, makes room."""
    monkeypatch.setattr(repeats, "MOST_REPEATING", 2)
    submit, acme = [bearing(await make(store, "submit", namespace=name)) for name in (None, "acme")]
    operator = bearing(await make(store, "operate"))
    tasks = [(await send(api, {"cron": "@daily"}, headers=submit)).json["taskId"] for _ in range(2)]
    refused = await send(api, {"cron": "@daily"}, headers=submit)
    assert (refused.status, refused.kind) == (429, "quota")
    assert "abort one" in refused.json["detail"]
    assert (await send(api, {"cron": "@daily"}, headers=acme)).status == 202
    assert (await send(api, {"cron": "@daily"}, headers=operator)).status == 202
    for task in tasks:
        await api.post(f"/tasks/{task}/abort", **submit)
    assert (await send(api, {"cron": "@daily"}, headers=submit)).status == 202


async def test_a_key_without_a_namespace_sees_and_aborts_tasks_of_all(api: Api, store: Store) -> None:
    """As with tasks that do not repeat."""
    acme = bearing(await make(store, "submit", namespace="acme"))
    operator = bearing(await make(store, "operate"))
    task = (await send(api, {"cron": "@daily"}, headers=acme)).json["taskId"]
    assert (await api.get(f"/tasks/{task}", **operator)).json["state"] == "Delayed"
    assert (await api.post(f"/tasks/{task}/abort", **operator)).json["state"] == "Aborted"
