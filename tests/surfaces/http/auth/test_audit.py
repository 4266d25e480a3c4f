"""What was done over HTTP: on record once for each change, by whom, to what, and how it ended."""

from typing import Any

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.contract.store import Store
from tenure.surfaces.http.calls.table import ROUTES
from tests.surfaces.http.auth.test_keys import bearing, call, make
from tests.surfaces.http.http_server import Api

CHANGING = [route for route in ROUTES if route.method != "GET"]
ROUTINE = {("POST", "/jobs"), ("POST", "/v1/jobs"), ("POST", "/tasks"), ("DELETE", "/v1/workers/{workerId}")}
"""Their jobs tell who asked for them; and a goodbye changes only what is shown of its worker."""


BLANK = "succeeded=- others=- keyed=- logs=-"
TARGETS = {
    "/v1/jobs/purge": "endedBefore=2030-01-31T08:30:00Z",
    "/v1/retention": f"all definitions {BLANK}",
    "/v1/retention/{key}": f"1 {BLANK}",
    "/v1/retention-dry-run": f"dry run: all definitions {BLANK}",
}
"""The targets of routes that say more than `all` of an empty request."""


async def done(store: Store) -> list[tuple[str, str | None, str, str, str | None]]:
    """What is on record of what was done over HTTP, oldest first."""
    found = [one for one in reversed(await store.audit_entries()) if one.entry.action != "keys create"]
    return [(one.entry.who, one.entry.key, one.entry.action, one.entry.target, one.outcome) for one in found]


@pytest.mark.both_stores
async def test_each_change_leaves_one_row(api: Api, store: Store) -> None:
    """What only records a job, which tells its creator, leaves none; nor does what is refused unread."""
    key = await make(store, "admin")
    known: list[Any] = []
    for route in CHANGING:
        job = (await api.post("/v1/jobs", {"definitionKey": "mail"}, **bearing(key))).json["jobId"]
        assert await done(store) == known
        reply = await call(api, route, key, job)
        rows, known = (await done(store))[len(known) :], await done(store)
        if (route.method, route.path) in ROUTINE or (reply.status == 422 and not rows):
            assert rows == [], route
            continue
        [(who, by, action, target, outcome)] = rows
        assert (who, by, action) == ("test", key[4:14], f"{route.method} {route.path}")
        named = "/".join({"jobId": job}.get(name, "1") for name in route.names)
        assert target == (TARGETS.get(route.path, "all") if route.target else named), route
        assert outcome is not None, route
        assert outcome.startswith(str(reply.status)), route


async def test_a_sweep_tells_which_jobs_it_meant(api: Api, store: Store) -> None:
    """Whoever finds a job cancelled can find out who asked for that, though nobody named the job."""
    meant = {"queue": "mail", "status": ["queued", "running"]}
    for body in ({"filter": meant, "dryRun": True}, {"filter": meant}, {"filter": {"tag": "x"}}):
        assert (await api.post("/v1/jobs/cancel", body)).status == 200
    assert [target for *_, target, _outcome in await done(store)] == [
        "dry run: status=queued,running queue=mail",
        "status=queued,running queue=mail",
        "tag=x",
    ]


async def test_who_is_refused_at_the_door_leaves_nothing(api: Api, store: Store) -> None:
    key = await make(store, "read")
    assert (await api.post("/v1/queues/q/pause", {}, **bearing(key))).status == 403
    assert (await api.post("/v1/queues/q/pause", {})).status == 401
    assert await done(store) == []


async def test_an_open_server_tells_what_anybody_did(api: Api, store: Store) -> None:
    await api.post("/v1/queues/q/pause", {})
    assert await done(store) == [
        ("anybody on this machine", None, "POST /v1/queues/{queue}/pause", "q", "200")
    ]


async def test_a_change_that_cannot_be_put_on_record_is_not_made(
    api: Api, store: Store, monkeypatch: Any
) -> None:
    async def away(_entry: object) -> int:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(store, "begin_audit_entry", away)
    reply = await api.post("/v1/queues/q/pause", {})
    assert (reply.status, reply.kind) == (503, "storage-unavailable")
    assert not [line for line in await store.lines() if line.pause]
    monkeypatch.undo()
    assert not await store.resume("q")


async def test_an_outcome_that_cannot_be_written_is_left_open(
    api: Api, store: Store, monkeypatch: Any
) -> None:
    """What was done is done: the caller is told so."""

    async def away(_n: int, _outcome: str) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(store, "end_audit_entry", away)
    assert (await api.post("/v1/queues/q/pause", {})).status == 200
    [(*_, outcome)] = await done(store)
    assert outcome is None


async def test_what_was_done_is_read_a_page_at_a_time(api: Api, store: Store) -> None:
    key = await make(store, "admin")
    for queue in "abc":
        await api.post(f"/v1/queues/{queue}/pause", {}, **bearing(key))
    first = await api.get("/v1/audit?limit=2", **bearing(key))
    assert [item["target"] for item in first.json["items"]] == ["c", "b"]
    item = first.json["items"][0]
    assert item.keys() == {"at", "who", "keyId", "action", "target", "requestId", "outcome"}
    rest = await api.get(f"/v1/audit?limit=2&cursor={first.json['nextCursor']}", **bearing(key))
    assert [item["target"] for item in rest.json["items"]] == ["a", key[4:14]]
    assert (await api.get("/v1/audit?cursor=x", **bearing(key))).kind == "invalid-cursor"


async def test_the_row_has_the_id_of_the_request(api: Api, store: Store) -> None:
    reply = await api.post("/v1/queues/q/pause", {})
    [one] = await store.audit_entries()
    assert str(one.entry.request) == reply.headers["x-request-id"]
