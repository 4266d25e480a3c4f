"""A namespace with a bound takes no more jobs when as many are unfinished, and holds up nobody else."""

from typing import Any

import pytest

from tenure.core.model.spec import Spec
from tenure.engine.client import quota
from tenure.storage.contract.store import Store
from tests.storage.verbs import EVERY_JOB, claim, settle, succeeded, unrecoverable
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Reply, register, serving
from tests.surfaces.store_behind import MAIL

WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "wish"}
ORDER = {"definitionKey": "mail", "params": {"to": "ada"}, "idempotencyKey": "order"}
MORE = {"definitionKey": "mail"}


def is_refused(
    reply: Reply, detail: str = "the namespace acme has as many unfinished jobs as it may"
) -> bool:
    """Whether a full namespace was the reason; then the answer says when to try again."""
    return (
        (reply.status, reply.status == 429 and reply.kind) == (429, "quota")
        and int(reply.headers["retry-after"]) > 0
        and reply.json["detail"].startswith(detail)
    )


@pytest.fixture
async def tenants(store: Store) -> dict[str, Any]:
    """By the name of its namespace, what a tenant's requests bear; one belongs to none."""
    await register(store, MAIL, Spec(key="bill", queue="slow"))
    names = {"acme": "acme", "globex": "globex", "free": None}
    return {name: bearing(await make(store, "operate", namespace=bound)) for name, bound in names.items()}


async def test_a_full_namespace_takes_no_more_in_any_queue(store: Store, tenants: dict[str, Any]) -> None:
    """Row 37: on every way to make a job, held and later ones as well; everybody else goes on."""
    acme = tenants["acme"]
    async with serving(store, max_namespace_jobs=3) as api:
        assert (await api.post("/jobs", WISH, **acme)).status == 202
        assert (await api.post("/v1/jobs", ORDER, **acme)).status == 202
        assert (await api.post("/v1/jobs", {**MORE, "hold": True}, **acme)).status == 202
        before = len((await store.page(EVERY_JOB)).jobs)
        more = {**WISH, "idempotencyKey": "other"}
        assert is_refused(await api.post("/jobs", more, **acme), "as many jobs wait")
        assert is_refused(await api.post("/tasks", {"type": "mail"}, **acme), "as many jobs wait")
        for body in (MORE, {"definitionKey": "bill"}, {**MORE, "hold": True}, {**MORE, "delaySeconds": 60}):
            assert is_refused(await api.post("/v1/jobs", body, **acme)), body
        assert is_refused(await api.post("/v1/jobs/batch", {"jobs": [MORE]}, **acme))
        assert len((await store.page(EVERY_JOB)).jobs) == before
        for _ in range(4):
            assert (await api.post("/v1/jobs", MORE, **tenants["free"])).status == 202
        assert (await api.post("/v1/jobs", MORE, **tenants["globex"])).status == 202
        assert not api.bugs


async def test_who_asks_again_for_what_was_taken_is_never_refused(
    store: Store, tenants: dict[str, Any]
) -> None:
    """Row 37: a known key is answered with its job; another's key of the same name is not known."""
    acme = tenants["acme"]
    async with serving(store, max_namespace_jobs=2) as api:
        wish, order = await api.post("/jobs", WISH, **acme), await api.post("/v1/jobs", ORDER, **acme)
        assert (
            await api.post("/v1/jobs", {**ORDER, "idempotencyKey": "k"}, **tenants["globex"])
        ).status == 202
        assert (await api.post("/jobs", WISH, **acme)).json == wish.json
        assert (await api.post("/v1/jobs", ORDER, **acme)).json == order.json
        again = await api.post("/v1/jobs/batch", {"jobs": [ORDER, ORDER]}, **acme)
        assert [item["jobId"] for item in again.json["items"]] == [order.json["jobId"]] * 2
        assert is_refused(await api.post("/v1/jobs", {**ORDER, "idempotencyKey": "k"}, **acme))


async def test_when_jobs_have_ended_there_is_room_again(
    store: Store, tenants: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that runs is not done yet: it is the end that makes room."""
    monkeypatch.setattr(quota, "FRESH", -1.0)
    acme = tenants["acme"]
    async with serving(store, max_namespace_jobs=1) as api, serving(store, max_namespace_jobs=1) as other:
        assert (await api.post("/v1/jobs", MORE, **acme)).status == 202
        claimed = await claim(store)
        assert is_refused(await other.post("/v1/jobs", MORE, **acme))
        await settle(store, [succeeded(one) for one in claimed])
        assert (await other.post("/v1/jobs", MORE, **acme)).status == 202


async def test_a_replay_counts_like_any_job(
    store: Store, tenants: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 37: one that is under way is answered all the same."""
    monkeypatch.setattr(quota, "FRESH", -1.0)
    acme = tenants["acme"]
    async with serving(store, max_namespace_jobs=1) as api:
        job = (await api.post("/v1/jobs", MORE, **acme)).json["jobId"]
        await settle(store, [unrecoverable(one) for one in await claim(store)])
        first = await api.post(f"/v1/jobs/{job}/replay", {}, **acme)
        assert (await api.post(f"/v1/jobs/{job}/replay", {}, **acme)).json == first.json
        assert is_refused(await api.post(f"/v1/jobs/{job}/replay", {"force": True}, **acme))
        assert (await api.post("/v1/jobs/replay", {"all": True}, **acme)).json["changed"] == 0
        await store.cancel([(await store.page(EVERY_JOB)).jobs[0].id])
        assert (await api.post("/v1/jobs", MORE, **acme)).status == 202
        assert is_refused(await api.post("/v1/jobs/replay", {"filter": {"status": ["cancelled"]}}, **acme))
