"""Pauses of definitions, and limits, over HTTP."""

import pytest

from tenure.core.model.limit import Limit, LimitUse
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import PauseScope
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api, register

LONG = "x" * 10_000


async def test_a_definition_is_paused_in_any_queue_and_resumed(api: Api, store: Store) -> None:
    await api.post("/v1/jobs", {"definitionKey": "mail"})
    reply = await api.post("/v1/definitions/mail/pause", {"reason": "spam", "until": "2999-01-01T00:00:00Z"})
    whole = {"definitionKey": "mail", "definitionVersion": None, "queue": None}
    assert (reply.status, reply.json) == (200, {**whole, "paused": True})
    await api.post("/v1/jobs", {"definitionKey": "mail", "queue": "other"})
    [listed] = (await api.get("/v1/pauses")).json["items"]
    assert listed.pop("at")
    told = {"until": "2999-01-01T00:00:00Z", "by": "anybody on this machine", "reason": "spam"}
    assert listed == {**whole, **told}
    for queue in (await api.get("/v1/queues")).json["items"]:
        assert queue["pause"] is None
        assert queue["lines"][0]["pause"]["definitionKey"] == "mail"
    assert not await claim(store)
    assert (await api.post("/v1/definitions/mail/resume")).json == {**whole, "paused": False}
    assert (await api.get("/v1/pauses")).json["items"] == []
    assert await claim(store)


async def test_one_version_in_one_queue_is_paused(api: Api, store: Store) -> None:
    scope = {"version": 1, "queue": "q"}
    assert (await api.post("/v1/definitions/mail/pause", scope)).status == 200
    assert [pause.scope for pause in await store.pauses()] == [PauseScope("q", "mail", 1)]
    # Who resumes names what was paused.
    assert (await api.post("/v1/definitions/mail/resume")).status == 200
    assert len(await store.pauses()) == 1
    assert (await api.post("/v1/definitions/mail/resume", scope)).json["paused"] is False
    assert await store.pauses() == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"until": "1999-01-01T00:00:00Z"}, "/until"),
        ({"until": "soon"}, "/until"),
        ({"until": "2999-01-01T00:00:00"}, "/until"),
        ({"version": 0}, "/version"),
        ({"version": "1"}, "/version"),
        ({"queue": "a b"}, "/queue"),
        ({"queue": LONG}, "/queue"),
        ({"reason": LONG}, "/reason"),
        ({"reason": "a\nb"}, "/reason"),
        ({"definition": "mail"}, "/definition"),
    ],
)
async def test_a_pause_that_cannot_be_is_refused_by_its_field(
    api: Api, store: Store, body: dict[str, object], pointer: str
) -> None:
    reply = await api.post("/v1/definitions/mail/pause", body)
    assert reply.status == 422
    assert reply.json["errors"][0]["pointer"] == pointer
    assert await store.pauses() == []


async def test_a_time_that_has_passed_by_the_stores_clock_is_refused(
    api: Api, store: Store, clock: Clock
) -> None:
    now = await clock.advance(seconds(100))
    for path in ("/v1/queues/q/pause", "/v1/definitions/mail/pause"):
        reply = await api.post(path, {"until": now.isoformat()})
        assert (reply.status, reply.kind) == (422, "datetime")
        assert "has passed already" in reply.json["detail"]
        assert (await api.post(path, {"until": (now + seconds(1)).isoformat()})).status == 200


async def test_what_is_not_registered_is_not_found(api: Api, store: Store) -> None:
    for path in ("nope", LONG, "a%20b", "%00"):
        for verb in ("pause", "resume"):
            assert (await api.post(f"/v1/definitions/{path}/{verb}")).status in {404, 414}
    assert (await api.post("/v1/definitions/mail/pause", {"version": 9})).status == 404
    assert await store.pauses() == []
    # A pause from before can still be ended, though nobody knows the definition any more.
    await store.pause(PauseScope(definition="gone"))
    assert (await api.post("/v1/definitions/gone/resume")).status == 200
    assert await store.pauses() == []


async def test_limits_are_listed_a_page_at_a_time(api: Api, store: Store) -> None:
    """One row for each key; a key that is bound to a namespace is shown as it was given."""
    await enqueue_one(store, limits=(Limit("api", size=2),))
    for key in ("a", "ü" * 255):
        await enqueue_one(store, namespace="acme", limits=(Limit("tenant", key, 3),))
    await claim(store, limit=10)
    page = (await api.get("/v1/limits?limit=1")).json
    items = page["items"]
    while cursor := page["nextCursor"]:
        page = (await api.get(f"/v1/limits?limit=1&cursor={cursor}")).json
        items += page["items"]
    assert items == [
        {"name": "api", "key": "", "namespace": None, "size": 2, "held": 1, "opensAt": None},
        {"name": "tenant", "key": "a", "namespace": "acme", "size": 3, "held": 1, "opensAt": None},
        {"name": "tenant", "key": "ü" * 255, "namespace": "acme", "size": 3, "held": 1, "opensAt": None},
    ]
    for cursor in ("x", "AAAA", "A" * 600):
        assert (await api.get(f"/v1/limits?cursor={cursor}")).kind == "invalid-cursor"
    assert (await api.get("/v1/limits?limit=0")).status == 422


async def test_a_limit_is_resized(api: Api, store: Store) -> None:
    for _ in range(3):
        await enqueue_one(store, limits=(Limit("api"),))
    reply = await api.call("PATCH", "/v1/limits/api", {"size": 2})
    assert (reply.status, reply.json) == (200, {"name": "api", "size": 2})
    assert len(await claim(store, limit=10)) == 2


async def test_a_limit_that_a_definition_names_is_set_before_its_first_job(api: Api, store: Store) -> None:
    await register(store, Spec(key="scan", limits=(Limit("gpu", size=4),)))
    assert (await api.call("PATCH", "/v1/limits/gpu", {"size": 2})).status == 200
    assert await store.limits() == [LimitUse("gpu", "", 2, 0)]


async def test_what_is_no_limit_or_no_size_is_refused(api: Api, store: Store) -> None:
    await enqueue_one(store, limits=(Limit("api", size=2),))
    for size in (0, -1, 10_001, 1.5, "5", None, True):
        reply = await api.call("PATCH", "/v1/limits/api", {"size": size})
        assert (reply.status, reply.json["errors"][0]["pointer"]) == (422, "/size"), size
    for body, pointer in (
        ({"size": 3, "rate": 5}, "/rate"),
        ({"size": 3, "burst": 5}, "/burst"),
        ({}, "/size"),
    ):
        reply = await api.call("PATCH", "/v1/limits/api", body)
        assert (reply.status, reply.json["errors"][0]["pointer"]) == (422, pointer)
    for name in ("nope", "a%20b", LONG, "%00"):
        assert (await api.call("PATCH", f"/v1/limits/{name}", {"size": 3})).status in {404, 414}
    assert await store.limits() == [LimitUse("api", "", 2, 0)]


async def test_who_may_do_what(api: Api, store: Store) -> None:
    """Limits and pauses are everybody's: a key of a namespace neither sees nor sets them."""
    await enqueue_one(store, limits=(Limit("api", size=2),))
    reader, operator = await make(store, "read"), await make(store, "operate")
    fenced = await make(store, "operate", namespace="acme")
    changes = [
        ("PATCH", "/v1/limits/api", {"size": 3}),
        ("POST", "/v1/definitions/mail/pause", {}),
        ("POST", "/v1/definitions/mail/resume", {}),
    ]
    for method, path, body in changes:
        for key, status in ((reader, 403), (fenced, 403), (operator, 200)):
            assert (await api.call(method, path, body, **bearing(key))).status == status, path
    for path in ("/v1/limits", "/v1/pauses"):
        for key, status in ((reader, 200), (fenced, 403), (operator, 200)):
            assert (await api.get(path, **bearing(key))).status == status, path
