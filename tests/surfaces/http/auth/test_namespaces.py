"""Two namespaces on one server: neither has a byte of the other's, whatever is asked for."""

from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.limit import Limit
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.auth.audit import audit
from tenure.surfaces.http.calls.table import ROUTES
from tests.surfaces.http.auth.test_keys import GUARDED, bearing, call, make, same
from tests.surfaces.http.http_server import Api
from tests.surfaces.store_behind import NOBODY

pytestmark = pytest.mark.both_stores


async def jobs_of(api: Api, key: str, name: str) -> list[str]:
    """Jobs whose every text tells whose they are."""
    bodies = [
        {"definitionKey": "bill", "params": {"of": f"{name} {n}"}, "tags": [name], "idempotencyKey": f"{n}"}
        for n in range(3)
    ]
    return [(await api.post("/v1/jobs", one, **bearing(key))).json["jobId"] for one in bodies]


@pytest.fixture
async def tenants(api: Api, store: Store) -> dict[str, Any]:
    """A key and jobs of each of two namespaces."""
    keys = {name: await make(store, "admin", namespace=name) for name in ("acme", "globex")}
    jobs = {name: await jobs_of(api, key, name) for name, key in keys.items()}
    return {"keys": keys, "jobs": jobs}


async def test_no_answer_has_a_byte_of_another_namespace(
    api: Api, store: Store, tenants: dict[str, Any]
) -> None:
    """Rows 39 and 41: another's job is not there, in the words for one that is not, and stays as it is."""
    key, theirs = tenants["keys"]["acme"], tenants["jobs"]["globex"]
    before = [await store.get(UUID(job)) for job in theirs]
    for route in GUARDED:
        reply = await call(api, route, key, theirs[0])
        assert [await store.get(UUID(job)) for job in theirs] == before, route
        assert [text for text in ("globex", *theirs) if text.encode() in reply.body] == [], route
        if "jobId" in route.names:
            closed = route.is_shared  # to every such key, whichever job it names
            expected = (403, "insufficient-scope") if closed else (404, "not-found")
            assert (reply.status, reply.kind) == expected, route
            assert same(reply) == same(await call(api, route, key, NOBODY)), route


async def test_each_sees_and_changes_its_own(api: Api, store: Store, tenants: dict[str, Any]) -> None:
    for name, key in tenants["keys"].items():
        listed = (await api.get("/v1/jobs", **bearing(key))).json["items"]
        assert {item["jobId"] for item in listed} == set(tenants["jobs"][name])
        assert {item["namespace"] for item in listed} == {name}
        first = tenants["jobs"][name][0]
        assert (await api.get(f"/jobs/{first}", **bearing(key))).status == 200
        assert (await api.post(f"/v1/jobs/{first}/cancel", {}, **bearing(key))).status == 202
    everybody = await make(store, "read")
    listed = (await api.get("/v1/jobs", **bearing(everybody))).json["items"]
    assert {item["namespace"] for item in listed} == {"acme", "globex"}


@pytest.mark.parametrize("verb", ["cancel", "replay"])
async def test_all_jobs_are_all_of_the_namespace(api: Api, tenants: dict[str, Any], verb: str) -> None:
    """Row 39: a filter that says nothing else still says that."""
    acme, globex = tenants["keys"].values()
    body: dict[str, Any] = {"all": True, "limit": 1}
    if verb == "replay":
        for name, key in tenants["keys"].items():
            for job in tenants["jobs"][name]:
                await api.post(f"/v1/jobs/{job}/cancel", {}, **bearing(key))
        body["filter"] = {"status": ["cancelled"]}
    first = (await api.post(f"/v1/jobs/{verb}", body, **bearing(acme))).json
    again = body | {"cursor": first["nextCursor"]}
    assert (await api.post(f"/v1/jobs/{verb}", again, **bearing(globex))).kind == "invalid-cursor"
    rest = (await api.post(f"/v1/jobs/{verb}", again | {"limit": 100}, **bearing(acme))).json
    assert (first["changed"], rest["changed"]) == (1, 2)
    theirs = (await api.get("/v1/jobs", **bearing(globex))).json["items"]
    assert len(theirs) == 3
    assert {item["status"] for item in theirs} == {"cancelled" if verb == "replay" else "queued"}


async def test_the_same_idempotency_key_is_another_in_each(api: Api, tenants: dict[str, Any]) -> None:
    """S0.56, and row 34: unique within its namespace, on both APIs."""
    wish = {"jobType": "bill", "idempotencyKey": "1"}
    made = {(await api.post("/jobs", wish, **bearing(key))).json["jobId"] for key in tenants["keys"].values()}
    assert len(made) == 2
    ids = [job for jobs in tenants["jobs"].values() for job in jobs]
    assert len(set(ids)) == 6


async def test_a_cursor_leads_nobody_else_on(api: Api, store: Store, tenants: dict[str, Any]) -> None:
    """Row 41."""
    acme, globex = tenants["keys"].values()
    cursor = (await api.get("/v1/jobs?limit=1", **bearing(acme))).json["nextCursor"]
    for key in (globex, await make(store, "read")):
        reply = await api.get(f"/v1/jobs?limit=1&cursor={cursor}", **bearing(key))
        assert (reply.status, reply.kind) == (400, "invalid-cursor")
    assert (await api.get(f"/v1/jobs?limit=1&cursor={cursor}", **bearing(acme))).status == 200


async def test_definitions_are_shown_without_the_limits_and_workers_that_all_share(
    api: Api, store: Store, tenants: dict[str, Any]
) -> None:
    """Row 39: who is bound to a namespace learns what to ask for, and nothing of how much is free for it."""
    limited = Spec(key="sync", concurrency=7, concurrency_key="of", limits=(Limit("smtp", size=5),))
    known = Definition(key="sync", version=1, spec=limited.document(), registered_by="host-17")
    await store.put_definitions([known])
    everybody = await make(store, "read")
    for path in ("/v1/definitions", "/v1/definitions/sync"):
        answer = [await api.get(path, **bearing(key)) for key in (tenants["keys"]["acme"], everybody)]
        bound, free = (reply.json["items"][-1] for reply in answer)
        assert bound.keys() == free.keys() - {"concurrency", "concurrencyKey", "limits", "registeredBy"}
        assert (free["limits"], free["registeredBy"]) == ({"smtp": 5}, "host-17")


def test_what_all_namespaces_share_is_closed_and_so_is_whatever_says_nothing_of_them() -> None:
    shared = {route.path for route in ROUTES if route.is_shared}
    for path in {route.path for route in ROUTES}:
        about_all = path.startswith(
            ("/v1/queues", "/v1/workers", "/v1/stats", "/v1/limits", "/v1/audit", "/v1/dead-letters")
        )
        assert (path in shared) >= about_all, path
    new = Route(method="GET", path="/x", audience="x", scope="read", handler=audit, summary="", answers={})
    assert new.is_shared
