"""Jobs that the database refuses to move, over HTTP: they are named, stay as they are, and are put back."""

from uuid import UUID

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.http_server import Api
from tests.surfaces.http.http_worker import is_lost, one


async def aside(store: Store, backend: Backend, **options: str) -> UUID:
    """A job that runs, with a report that cannot be recorded."""
    job = await enqueue_one(store, **options)
    [owned] = await claim(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await settle(store, [succeeded(owned, '{"password":"hush","sum":3}')])
    return job


async def test_a_job_that_is_aside_is_named_with_what_it_reported(
    api: Api, store: Store, backend: Backend
) -> None:
    """Without what is hidden."""
    job = await aside(store, backend)
    [listed] = (await api.get("/v1/jobs?status=running")).json["items"]
    shown = (await api.get(f"/v1/jobs/{job}")).json
    answer = (await api.get("/v1/aside")).json
    [item] = answer["items"]
    assert listed["asideSince"] == shown["asideSince"] == item["since"] == "2030-01-01T12:00:00Z"
    assert (item["jobId"], item["status"], item["verb"], item["by"]) == (str(job), "running", "settle", "a")
    assert (item["outcome"], item["result"]["sum"], answer["inAll"]) == ("succeeded", 3, 1)
    assert item["result"]["password"] != "hush"
    assert item["reason"]


async def test_it_is_neither_cancelled_nor_put_back_before_it_is_mended(
    api: Api, store: Store, backend: Backend
) -> None:
    job = await aside(store, backend)
    for verb in ("cancel", "put-back"):
        reply = await api.post(f"/v1/jobs/{job}/{verb}")
        assert (reply.status, reply.kind) == (409, "job-aside"), verb
    assert (await api.post(f"/tasks/{job}/abort")).status == 409
    swept = await api.post("/v1/jobs/cancel", {"all": True})
    assert (swept.status, swept.json["changed"]) == (200, 0)
    assert await state_of(store, job) is State.RUNNING


async def test_it_goes_on_when_it_was_mended_and_that_is_audited(
    api: Api, store: Store, backend: Backend
) -> None:
    job = await aside(store, backend)
    await damaged_rows.mend(backend.address, job)
    reply = await api.post(f"/v1/jobs/{job}/put-back")
    assert (reply.status, reply.json) == (202, {"jobId": str(job), "status": "succeeded"})
    assert (await api.get(f"/v1/jobs/{job}/result")).json["result"]["sum"] == 3
    again = await api.post(f"/v1/jobs/{job}/put-back")
    assert (again.status, again.kind) == (409, "job-state")
    assert (await api.get("/v1/aside")).json == {"items": [], "inAll": 0}
    entries = [
        (one.entry.action, one.entry.target, one.outcome) for one in await store.audit_entries(limit=10)
    ]
    assert entries == [
        ("POST /v1/jobs/{jobId}/put-back", str(job), "409 job-state"),
        ("POST /v1/jobs/{jobId}/put-back", str(job), "202"),
    ]


async def test_who_sees_one_namespace_sees_what_is_aside_there(
    api: Api, store: Store, backend: Backend
) -> None:
    mine = await aside(store, backend, namespace="mine")
    other = await aside(store, backend)
    key = await make(store, "admin", namespace="mine")
    items = (await api.get("/v1/aside", **bearing(key))).json["items"]
    assert [item["jobId"] for item in items] == [str(mine)]
    assert (await api.post(f"/v1/jobs/{other}/put-back", **bearing(key))).status == 404


async def test_a_worker_over_http_is_told_that_its_report_was_kept(
    api: Api, store: Store, backend: Backend
) -> None:
    held = await one(api, store)
    await damaged_rows.next_event(backend.address, UUID(held.job))
    reply = await held.call("complete", result={"sent": 1})
    assert (reply.status, reply.kind) == (409, "job-aside")
    await damaged_rows.mend(backend.address, UUID(held.job))
    assert (await api.post(f"/v1/jobs/{held.job}/put-back")).json["status"] == "succeeded"
    assert (await api.get(f"/v1/jobs/{held.job}/result")).json["result"] == {"sent": 1}


async def test_a_lease_that_was_deleted_is_noticed_and_nothing_is_believed(
    api: Api, store: Store, backend: Backend
) -> None:
    """Without the row nothing says that this worker was the owner; its job is not forgotten, though."""
    held = await one(api, store)
    await damaged_rows.no_lease(backend.address, UUID(held.job))
    assert is_lost(await held.call("complete", result={"sent": 1}))
    [item] = (await api.get("/v1/aside")).json["items"]
    assert (item["jobId"], item["verb"], item["outcome"]) == (held.job, "heartbeat", None)
    assert (await api.post(f"/v1/jobs/{held.job}/put-back")).json["status"] == "queued"


async def test_one_job_that_cannot_be_claimed_keeps_no_worker_over_http_from_the_next(
    api: Api, store: Store, backend: Backend
) -> None:
    await damaged_rows.next_event(backend.address, await enqueue_one(store))
    held = await one(api, store)
    assert (await api.get(f"/v1/jobs/{held.job}")).json["status"] == "running"
