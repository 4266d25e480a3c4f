"""The control API's ways to act on jobs, queues and workers."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.lease import Claimed, Line, Pulse
from tenure.core.model.outcome import Report
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.urls import masked
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, found, recoverable, settle, stopped, succeeded, unrecoverable
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api

MAIL = {"definitionKey": "mail"}


async def _create(api: Api, **more: object) -> str:
    job: str = (await api.post("/v1/jobs", {**MAIL, **more})).json["jobId"]
    return job


async def test_a_job_is_started_looked_at_and_cancelled(api: Api) -> None:
    """S1.5: each by one request."""
    started = await api.post("/v1/jobs", MAIL)
    job = started.json["jobId"]
    assert (await api.get(f"/v1/jobs/{job}")).json["status"] == started.json["status"] == "queued"
    assert (await api.post(f"/v1/jobs/{job}/cancel")).status == 202
    assert (await api.get(f"/v1/jobs/{job}")).json["status"] == "cancelled"


async def test_a_job_that_waits_is_cancelled_once(api: Api, store: Store) -> None:
    """S1.50, and row 44: accepted each time, with one effect."""
    job = await _create(api)
    replies = [await api.post(f"/v1/jobs/{job}/cancel", {"reason": "no need"}) for _ in range(2)]
    assert [(reply.status, reply.json["status"]) for reply in replies] == [(202, "cancelled")] * 2
    events = await store.events(UUID(job))
    assert [(event.type, event.actor, event.reason) for event in events][1:] == [
        ("cancelled", "api", "no need")
    ]


async def test_a_job_that_runs_is_asked_to_stop(api: Api, store: Store) -> None:
    """S1.50, S2.24, and row 44: it is its owner that ends it."""
    job = await _create(api)
    [claimed] = await claim(store)
    replies = [await api.post(f"/v1/jobs/{job}/cancel") for _ in range(2)]
    assert [(reply.status, reply.json["status"]) for reply in replies] == [(202, "cancelling")] * 2
    await settle(store, [stopped(claimed)])
    assert (await api.post(f"/v1/jobs/{job}/cancel")).json["status"] == "cancelled"


async def test_who_cancelled_is_told_by_the_history(api: Api, store: Store) -> None:
    """S1.50: by the id of the key, on every way to cancel."""
    key = await make(store, "admin")
    made = [await api.post("/v1/jobs", {"definitionKey": "bill"}, **bearing(key)) for _ in range(3)]
    first, second, third = (reply.json["jobId"] for reply in made)
    for path, body in (
        (f"/v1/jobs/{first}/cancel", None),
        (f"/tasks/{second}/abort", None),
        ("/v1/jobs/cancel", {"all": True}),
    ):
        assert (await api.post(path, body, **bearing(key))).status in {200, 202}
    for job in (first, second, third):
        events = (await api.get(f"/v1/jobs/{job}/events", **bearing(key))).json["items"]
        assert (events[-1]["type"], events[-1]["actor"]) == ("cancelled", key.split("_")[1])


@pytest.mark.parametrize("ending", [succeeded, unrecoverable])
async def test_a_job_that_has_ended_stays_as_it_is(
    api: Api, store: Store, ending: Callable[[Claimed], Report]
) -> None:
    """Row 45."""
    job = await _create(api)
    [claimed] = await claim(store)
    await settle(store, [ending(claimed)])
    state = (await found(store, UUID(job))).state
    for verb in ("cancel", "release", "give-up"):
        reply = await api.post(f"/v1/jobs/{job}/{verb}")
        assert (reply.status, reply.kind, reply.json["jobStatus"]) == (409, "job-terminal", state)
    assert (await found(store, UUID(job))).state is state


async def test_a_held_job_is_let_go(api: Api, store: Store) -> None:
    job, later = await _create(api, hold=True), await _create(api, hold=True, delaySeconds=60)
    assert not await claim(store)
    for _ in range(2):
        assert (await api.post(f"/v1/jobs/{job}/release")).json["status"] == "queued"
    assert (await api.post(f"/v1/jobs/{later}/release")).json["status"] == "scheduled"
    assert [claimed.lease.job for claimed in await claim(store)] == [UUID(job)]


async def test_a_job_that_waits_for_another_attempt_is_given_up(api: Api, store: Store) -> None:
    job = await _create(api)
    reply = await api.post(f"/v1/jobs/{job}/give-up")
    assert (reply.status, reply.kind, reply.json["jobStatus"]) == (409, "job-state", "queued")
    [claimed] = await claim(store)
    await settle(store, [recoverable(claimed, timedelta(hours=1))])
    for _ in range(2):
        assert (await api.post(f"/v1/jobs/{job}/give-up")).status == 202
    await store.promote(10)
    assert (await found(store, UUID(job))).state is State.FAILED


async def test_definitions_are_shown_by_key_and_version(api: Api) -> None:
    items = (await api.get("/v1/definitions")).json["items"]
    assert [(item["definitionKey"], item["version"]) for item in items] == [("bill", 1), ("mail", 1)]
    [mail] = (await api.get("/v1/definitions/mail")).json["items"]
    assert mail == items[1]
    assert mail["paramsSchema"]["properties"] == {"to": {"type": "string"}}
    for unknown in ("nope", "%00", "a%2Fb"):
        assert (await api.get(f"/v1/definitions/{unknown}")).status == 404


async def test_a_queue_tells_what_passes_through_it(api: Api, store: Store) -> None:
    """In a minute, by the last one; a queue in which nothing moves has its noughts."""
    await _create(api)
    await settle(store, [succeeded(claimed) for claimed in await claim(store)])
    await store.pause("still")
    await _create(api, queue="slow")
    rates = {one["name"]: one["rates"] for one in (await api.get("/v1/queues")).json["items"]}
    assert rates == {
        "default": {"enqueuedPerMinute": 1, "startedPerMinute": 1, "finishedPerMinute": 1},
        "slow": {"enqueuedPerMinute": 1, "startedPerMinute": 0, "finishedPerMinute": 0},
        "still": {"enqueuedPerMinute": 0, "startedPerMinute": 0, "finishedPerMinute": 0},
    }


async def test_a_queue_is_paused_and_resumed(api: Api, store: Store) -> None:
    job = await _create(api)
    reply = await api.post("/v1/queues/default/pause", {"reason": "a fire", "until": "2999-01-01T00:00:00Z"})
    assert (reply.status, reply.json) == (200, {"name": "default", "paused": True})
    assert not await claim(store)
    [queue] = (await api.get("/v1/queues")).json["items"]
    assert (queue["name"], queue["depth"]) == ("default", 1)
    [line] = queue["lines"]
    assert (line["definitionKey"], line["counts"]) == ("mail", {"queued": 1})
    assert (line["pause"]["reason"], line["pause"]["by"]) == ("a fire", "anybody on this machine")

    assert (await api.post("/v1/queues/default/resume")).json == {"name": "default", "paused": False}
    assert [claimed.lease.job for claimed in await claim(store)] == [UUID(job)]


async def test_a_pause_that_cannot_be_is_refused(api: Api, store: Store) -> None:
    for body, pointer in (
        ({"until": "soon"}, "/until"),
        ({"until": "1960-01-01T00:00:00Z"}, "/until"),
        ({"reason": "x" * 256}, "/reason"),
        ({"reason": "a\nb"}, "/reason"),
        ({"why": "x"}, "/why"),
    ):
        reply = await api.post("/v1/queues/default/pause", body)
        assert reply.status == 422, body
        assert reply.json["errors"][0]["pointer"] == pointer
    assert (await api.post("/v1/queues/a%20b/pause")).status == 404
    await _create(api)
    assert await claim(store)


async def test_a_worker_that_says_nothing_more_is_shown_as_silent(
    api: Api, store: Store, clock: Clock
) -> None:
    """A killed one cannot say that it is gone; when it was last heard of says how long that is."""
    await store.enlist(WorkerInfo(id="w", host="h", pid=7, version="1", slots=2, lines=()))
    await store.heartbeat(Pulse(worker="w", leases=[], ready=True))
    [before] = (await api.get("/v1/workers")).json["items"]
    await clock.advance(timedelta(seconds=36))
    [after] = (await api.get("/v1/workers")).json["items"]
    assert (before["status"], after) == ("ready", {**before, "status": "silent"})


async def test_workers_come_in_pages(api: Api, store: Store, clock: Clock) -> None:
    """Those that started first at the top; who started at once stands by its name, and nobody comes twice."""
    names = [f"w{n}" for n in range(7)]
    for name in reversed(names):
        await store.enlist(WorkerInfo(id=name, host="h", pid=7, version="1", slots=2, lines=()))
    await clock.advance(timedelta(seconds=1))
    await store.enlist(WorkerInfo(id="last", host="h", pid=7, version="1", slots=2, lines=()))
    pages: list[list[str]] = []
    cursor = ""
    while not pages or cursor:
        page = (await api.get(f"/v1/workers?limit=3{cursor}")).json
        pages.append([item["workerId"] for item in page["items"]])
        cursor = f"&cursor={page['nextCursor']}" if page["nextCursor"] else ""
        await store.dismiss(pages[-1][-1])  # who has gone is no reason to begin again
    assert [len(page) for page in pages] == [3, 3, 2]
    assert [name for page in pages for name in page] == [*names, "last"]
    assert (await api.get("/v1/workers?cursor=nonsense")).kind == "invalid-cursor"


async def test_a_worker_is_asked_to_end(api: Api, store: Store) -> None:
    lines = (Line("default", "mail"),)
    await store.enlist(WorkerInfo(id="w/1", host="h", pid=7, version="1", slots=2, lines=lines))
    [item] = (await api.get("/v1/workers")).json["items"]
    assert (item["workerId"], item["slots"], item["lines"][0]["definition"]) == ("w/1", 2, "mail")
    reply = await api.post("/v1/workers/w%2F1/drain")
    assert (reply.status, reply.json) == (202, {"workerId": "w/1", "status": "draining"})
    assert (await api.get("/v1/workers")).json["items"][0]["status"] == "draining"
    for unknown in ("nobody", "%00", "a%0Ab"):
        assert (await api.post(f"/v1/workers/{unknown}/drain")).status == 404


async def test_a_worker_that_cannot_receive_messages_says_since_when_and_why(api: Api, store: Store) -> None:
    """As long as it cannot; passwords in addresses are not shown."""
    await store.enlist(WorkerInfo(id="w", host="h", pid=7, version="1", slots=2, lines=()))
    assert (await api.get("/v1/workers")).json["items"][0]["ledBy"] is None
    queue = "https://ann:pass@sqs.example/1/jobs"
    await store.note_receiver("w", queue, f"SQS: {queue} is away")
    shown = masked(queue)
    assert "pass" not in shown
    [item] = (await api.get("/v1/workers")).json["items"]
    problem = f"SQS: {shown} is away"
    assert item["ledBy"] == {"queue": shown, "failingSince": item["startedAt"], "problem": problem}
    await store.note_receiver("w", queue, None)
    [item] = (await api.get("/v1/workers")).json["items"]
    assert item["ledBy"] == {"queue": shown, "failingSince": None, "problem": None}
