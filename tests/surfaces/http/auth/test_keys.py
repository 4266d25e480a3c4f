"""Keys: without one nothing is open, and each opens what its scopes say, while it holds, for its own eyes."""

import asyncio
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.reports.access import SCOPES, AuditEntry, NewKey, opened_by
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.auth import authentication, rate_limit
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.docs.openapi import document
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, settle, succeeded
from tests.surfaces.http.http_server import Api, Reply, serving
from tests.surfaces.store_behind import NOBODY

GUARDED = [route for route in ROUTES if route.scope is not None]
BODIES: dict[str, Any] = {
    "/v1/jobs/batch": {"jobs": [{"definitionKey": "mail"}]},
    "/v1/jobs/cancel": {"all": True},
    "/v1/jobs/replay": {"all": True},
    "/v1/jobs/purge": {"endedBefore": "2030-01-31T08:30:00Z"},
    "/v1/jobs/{jobId}/effects/{effect}": {"happened": True},
}
"""What routes take that need more than an empty object."""

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "k"}


async def make(store: Store, *scopes: str, name: str = "test", **rest: Any) -> str:
    """A key, as its owner has it."""
    minted = key_text.mint()
    key = NewKey(id=minted.id, digest=minted.digest, name=name, scopes=scopes, **rest)
    await store.add_key(key, AuditEntry(who="ann", action="keys create", target=minted.id, request=uuid4()))
    return minted.text


def bearing(key: str) -> dict[str, Any]:
    return {"headers": {"authorization": f"Bearer {key}"}}


async def call(api: Api, route: Route, key: str | None = None, job: str = NOBODY) -> Reply:
    """Use a route, with whatever it takes."""
    places = dict.fromkeys(route.names, "1") | {"jobId": job}
    needed = "&".join(f"{one.name}=1.a" for one in route.parameters if one.is_required)
    path = f"{route.path.format(**places)}?{needed}".rstrip("?")
    body = None if route.body is None else BODIES.get(route.path, {})
    return await api.call(route.method, path, body, **(bearing(key) if key else {}))


def same(reply: Reply) -> bytes:
    """What is told, without what is new in every answer."""
    return re.sub(rb"[0-9a-f-]{36}", b"", reply.body)


async def test_a_store_without_keys_asks_for_none(api: Api) -> None:
    for headers in ({}, {"authorization": "Bearer nonsense"}):
        assert (await api.get("/v1/jobs", headers=headers)).status == 200


async def test_the_first_key_closes_a_server_that_runs(api: Api, store: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(authentication, "OPEN_FOR", 0.0)
    assert (await api.get("/v1/jobs")).status == 200
    key = await make(store, "read")
    assert (await api.get("/v1/jobs")).status == 401
    assert (await api.get("/v1/jobs", **bearing(key))).status == 200


async def test_a_route_is_open_to_its_scope_and_to_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows 51 and 54: every route, without a key and with a key of each scope, which is what opens it."""
    monkeypatch.setattr(authentication, "BAD_KEYS", 1e9)  # every route is asked without one
    keys = {scope: await make(store, scope) for scope in SCOPES}
    bound = await make(store, "admin", namespace="acme")
    async with serving(store, requests_per_second=0) as api:
        for route in ROUTES:
            nobody = await call(api, route)
            if route.scope is None:
                assert nobody.status == 200, route
                continue
            assert (nobody.status, nobody.kind) == (401, "unauthenticated"), route
            for scope, key in keys.items():
                reply = await call(api, route, key)
                if opened_by([scope]) & set(route.scopes):
                    assert reply.status not in {401, 403}, (route, scope, reply)
                else:
                    assert (reply.status, reply.kind) == (403, "insufficient-scope"), (route, scope)
                    assert reply.json["detail"].endswith(" or ".join(route.scopes)), (route, reply)
            assert ((await call(api, route, bound)).status == 403) == route.is_shared, route
        assert not api.bugs


async def test_whatever_is_no_key_is_told_to_bring_one(api: Api, store: Store) -> None:
    """Row 51."""
    key = await make(store, "admin")
    bad = ("", "Basic dTpw", "Bearer", f"Bearer {key} {key}", f"Bearer {key}, Bearer {key}", key)
    for given in bad:
        reply = await api.get("/v1/jobs", headers={"authorization": given})
        assert (reply.status, reply.kind) == (401, "unauthenticated"), given
        assert reply.headers["www-authenticate"].startswith("Bearer")
    twice = [("authorization", f"Bearer {key}"), ("authorization", f"Bearer {key}")]
    assert (await api.get("/v1/jobs", headers=twice)).status == 401
    for given in (f"bearer {key}", f"BEARER  {key}"):
        assert (await api.get("/v1/jobs", headers={"authorization": given})).status == 200, given


async def test_nobody_is_told_what_is_wrong_with_a_key(api: Api, store: Store, clock: Clock) -> None:
    """Row 52: unknown, expired, revoked, mistyped, and another's secret, in one and the same words."""
    revoked = await make(store, "admin")
    expired = await make(store, "admin", lifetime=timedelta(hours=1))
    good = await make(store, "admin")
    await store.revoke_key(revoked[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    await clock.advance(timedelta(hours=1))
    bad = {
        "revoked": revoked,
        "expired": expired,
        "unknown": key_text.mint().text,
        "mistyped": good[:-1] + ("0" if good[-1] != "0" else "1"),
        "none": "x",
    }
    replies = {name: await api.get("/v1/jobs", **bearing(key)) for name, key in bad.items()}
    assert {reply.status for reply in replies.values()} == {401}
    assert len({same(reply) for reply in replies.values()}) == 1
    names = {frozenset(reply.headers) for reply in replies.values()}
    assert len(names) == 1
    assert (await api.get("/v1/jobs", **bearing(good))).status == 200


async def test_a_secret_of_another_key_opens_nothing(api: Api, store: Store, monkeypatch: Any) -> None:
    """The hash is compared, whatever the id and the check say."""
    key, other = await make(store, "admin"), await make(store, "admin")
    monkeypatch.setattr(key_text, "_check", lambda _key, _secret: "000000")
    swapped = f"{key[:15]}{other[15:48]}000000"
    assert (await api.get("/v1/jobs", **bearing(swapped))).status == 401


async def test_a_revoked_key_opens_nothing_from_the_next_request_on(api: Api, store: Store) -> None:
    key = await make(store, "read")
    for _ in range(3):
        assert (await api.get("/v1/jobs", **bearing(key))).status == 200
    await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    assert (await api.get("/v1/jobs", **bearing(key))).status == 401


async def test_who_waits_for_a_result_is_not_told_it_once_the_key_is_revoked(api: Api, store: Store) -> None:
    """However long ago the wait began, when the key still held."""
    key = await make(store, "operate")
    job = (await api.post("/v1/jobs", {"definitionKey": "mail"}, **bearing(key))).json["jobId"]
    [claimed] = await claim(store)
    path = f"/v1/jobs/{job}/result?waitSeconds=30"
    waiting = asyncio.create_task(api.get(path, **bearing(key)))
    for _ in range(20):  # others that came later are answered meanwhile
        await api.get("/v1/jobs", **bearing(key))
    assert not waiting.done()
    await store.revoke_key(key[4:14], AuditEntry(who="a", action="b", target="", request=uuid4()))
    await settle(store, [succeeded(claimed, "42")])
    answer = await waiting
    assert (answer.status, answer.kind) == (401, "unauthenticated")
    assert same(answer) == same(await api.get(path, **bearing(key)))
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_is_not_taken_from_the_address_and_told_to_nobody(api: Api, store: Store) -> None:
    """Row 53: not even beside a good one."""
    key = await make(store, "read")
    for query in (f"key={key}", f"tag={key}", f"a=1&access_token=%74nr_{key[4:]}"):
        for extra in ({}, bearing(key)):
            reply = await api.get(f"/v1/jobs?{query}", **extra)
            assert (reply.status, reply.kind) == (401, "unauthenticated"), query
            assert key[15:].encode() not in reply.body
    assert api.bugs == []


async def test_who_guesses_keys_is_told_to_wait_and_others_are_not(store: Store, monkeypatch: Any) -> None:
    """Row 55: the good key comes even from the very same peer."""
    monkeypatch.setattr(authentication, "BAD_KEYS_WITHIN", 1e6)  # however slow the machine is
    key = await make(store, "read")
    async with serving(store) as api:
        for _ in range(authentication.BAD_KEYS):
            assert (await api.get("/v1/jobs", **bearing("x"))).status == 401
        reply = await api.get("/v1/jobs", **bearing(key_text.mint().text))
        assert (reply.status, reply.kind) == (429, "too-many-requests")
        assert int(reply.headers["retry-after"]) >= 1
        assert (await api.get("/v1/jobs", **bearing(key))).status == 200


async def test_a_key_that_is_used_too_often_has_to_wait(store: Store) -> None:
    key, other = await make(store, "read"), await make(store, "read")
    async with serving(store, requests_per_second=1e-6) as api:
        replies = [await api.get("/v1/jobs", **bearing(key)) for _ in range(2)]
        assert replies[0].status == 200
        assert replies[-1].kind == "too-many-requests"
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert (await api.get("/v1/jobs", **bearing(other))).status == 200


def test_a_bucket_fills_again_and_few_are_remembered(monkeypatch: Any) -> None:
    now = [0.0]
    bucket = rate_limit.RateLimit(2, 0.5, clock=lambda: now[0])
    assert [bucket.take("a") for _ in range(3)] == [0, 0, 2]
    now[0] += 1.9
    assert bucket.take("a") == 1
    now[0] += 0.1
    assert bucket.take("a") == 0
    monkeypatch.setattr(rate_limit, "MOST_BUCKETS", 3)
    for name in "bcde":
        bucket.take(name)
    assert len(bucket._buckets) <= 3


async def test_the_last_use_is_on_record(api: Api, store: Store) -> None:
    key = await make(store, "read")
    assert (await store.keys())[0].last_used_at is None
    await api.get("/v1/jobs", **bearing(key))
    assert (await store.keys())[0].last_used_at == START


async def test_a_key_with_definitions_knows_no_others_and_sees_its_own_jobs(api: Api, store: Store) -> None:
    """What it did not ask for is not there, and neither is what somebody else's words stand for."""
    narrow = await make(store, "submit", definitions=("mail",))
    wide = await make(store, "submit")
    foreign = {**WISH, "jobType": "bill"}
    refused = await api.post("/jobs", foreign, **bearing(narrow))
    missing = await api.post("/jobs", {**WISH, "jobType": "nope"}, **bearing(narrow))
    assert (refused.status, refused.kind) == (422, "unknown-definition")
    assert same(refused).replace(b"bill", b"nope") == same(missing)

    theirs = (await api.post("/jobs", WISH, **bearing(wide))).json["jobId"]
    assert (await api.get(f"/jobs/{theirs}", **bearing(narrow))).status == 404
    taken = await api.post("/jobs", WISH, **bearing(narrow))
    assert (taken.status, taken.kind) == (422, "idempotency-key-reused")
    assert theirs not in taken.body.decode()

    own = {**WISH, "idempotencyKey": "own"}
    replies = [await api.post("/jobs", own, **bearing(narrow)) for _ in range(2)]
    assert replies[0].json == replies[1].json
    job = replies[0].json["jobId"]
    assert (await api.get(f"/jobs/{job}", **bearing(narrow))).status == 200
    assert (await api.get(f"/jobs/{job}", **bearing(wide))).status == 200


async def test_a_workers_key_registers_what_it_is_bound_to(api: Api, store: Store) -> None:
    """Neither another's definition, nor a version that would draw its jobs into the key's own queue."""
    narrow = await make(store, "work", definitions=("resize",))
    queued = await make(store, "work", queues=("slow",))
    wide = await make(store, "work")

    async def put(key: str, name: str, **body: Any) -> Reply:
        return await api.call("PUT", f"/v1/definitions/{name}", body, **bearing(key))

    assert (await put(wide, "scan/1", limits={"gpu": 3})).status == 200
    assert (await put(narrow, "resize/1")).status == 200
    assert (await put(queued, "thumb/1", queue="slow", limits={"gpu": 3})).status == 200
    refused = [
        await put(narrow, "scan/1", replace=True),
        await put(narrow, "new/1"),
        await put(queued, "new/1"),
        await put(queued, "scan/2", queue="slow"),
        await put(queued, "scan/1", queue="slow", replace=True),
        await put(queued, "thumb/1", queue="default", replace=True),
    ]
    assert {(reply.status, reply.kind) for reply in refused} == {(403, "insufficient-scope")}
    known = {(one.key, one.version) for one in await store.definitions()}
    assert known == {("bill", 1), ("mail", 1), ("resize", 1), ("scan", 1), ("thumb", 1)}


async def test_a_bound_key_changes_no_limit_that_others_share(api: Api, store: Store) -> None:
    bound, wide = await make(store, "work", queues=("slow",)), await make(store, "operate")
    body = {"queue": "slow", "limits": {"gpu": 3}}
    for key, size, wanted in ((bound, 3, 3), (bound, 9, 3), (wide, 8, 8)):
        sent = {**body, "limits": {"gpu": size}, "replace": True}
        assert (await api.call("PUT", "/v1/definitions/thumb/1", sent, **bearing(key))).status == 200
        assert (await api.post("/v1/jobs", {"definitionKey": "thumb"}, **bearing(wide))).status == 202
        assert {limit.name: limit.size for limit in await store.limits()}["gpu"] == wanted


async def test_a_job_tells_who_asked_for_it(api: Api, store: Store) -> None:
    key = await make(store, "operate")
    for path, body in {"/jobs": WISH, "/v1/jobs": {"definitionKey": "mail"}}.items():
        job = (await api.post(path, body, **bearing(key))).json["jobId"]
        assert (await api.get(f"/v1/jobs/{job}", **bearing(key))).json["createdBy"] == key[4:14]
    batch = await api.post("/v1/jobs/batch", {"jobs": [{"definitionKey": "mail"}]}, **bearing(key))
    job = batch.json["items"][0]["jobId"]
    assert (await api.get(f"/v1/jobs/{job}", **bearing(key))).json["createdBy"] == key[4:14]


def test_the_document_says_which_key_opens_what() -> None:
    answer = document(ROUTES)
    assert answer["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for route in ROUTES:
        operation = answer["paths"][route.path][route.method.lower()]
        assert operation.get("security", []) == [{"key": [scope]} for scope in route.scopes]
        assert operation.get("x-scopes", ()) == route.scopes
        assert {"401", "403", "429"} <= operation["responses"].keys() or route.scope is None
