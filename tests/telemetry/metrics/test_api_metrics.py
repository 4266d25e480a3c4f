"""What a server counts of requests and of its store, and which callers may read it."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tenure.core.errors import StoreError
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tests.surfaces.http.http_server import Api, register, request, serving
from tests.surfaces.store_behind import MAIL, NOBODY
from tests.telemetry.scrape import Scrape


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    await register(store, MAIL)
    async with serving(store) as running:
        yield running


async def scraped(api: Api) -> Scrape:
    reply = await api.get("/metrics")
    assert reply.status == 200
    return Scrape(reply.body)


async def test_requests_are_counted_by_the_route_and_not_by_the_path(api: Api) -> None:
    """S2.44, S2.45: ids in paths make no series."""
    for _ in range(3):
        assert (await api.get(f"/v1/jobs/{NOBODY}")).status == 404
    await api.post("/v1/jobs", {"definitionKey": "mail"})
    await api.get("/nope")
    await api.send(request("BREW", "/v1/jobs"))
    scrape = await scraped(api)
    wanted = {
        ("GET", "/v1/jobs/{jobId}", "404"): 3,
        ("POST", "/v1/jobs", "202"): 1,
        ("GET", "none", "404"): 1,
    }
    for (method, route, status), n in wanted.items():
        labels = {"method": method, "route": route, "status_code": status}
        assert scrape.value("http_requests_total", **labels) == n, labels
        assert scrape.value("http_request_duration_seconds_count", **labels) == n, labels
    methods = {dict(labels)["method"] for _, labels in scrape.families["http_requests_total"].samples}
    assert methods <= {"GET", "POST", "other"}


async def test_bodies_are_counted_by_size(api: Api) -> None:
    """S2.46."""
    await api.post("/v1/jobs", {"definitionKey": "mail", "params": {"to": "x" * 1500}})
    scrape = await scraped(api)
    assert scrape.value("upload_size_bytes_bucket", mime_type="application/json", le="1024.0") == 0
    assert scrape.value("upload_size_bytes_bucket", mime_type="application/json", le="2048.0") == 1


async def test_the_store_s_verbs_are_timed_by_what_they_are_about(store: Store) -> None:
    """S2.47, S2.48."""
    metrics = ApiMetrics()
    measured = metrics.on(store)
    await measured.workers()
    await measured.get(UUID(NOBODY))
    await measured.close()
    with pytest.raises(StoreError) as raised:
        await measured.get(UUID(NOBODY))
    scrape = Scrape(await metrics.text())
    assert scrape.value("db_query_duration_seconds_count", operation="workers", table="worker") == 1
    assert scrape.value("db_query_duration_seconds_count", operation="get", table="job") == 2
    failed = {"operation": "get", "table": "job", "error_code": raised.type.__name__}
    assert scrape.value("db_query_error_total", **failed) == 1


async def test_where_there_is_no_worker_there_is_nothing_of_one(api: Api) -> None:
    reply = await api.get("/metrics/worker")
    assert (reply.status, reply.kind) == (404, "not-found")
