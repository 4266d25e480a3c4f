"""Every metric that was asked for, to the letter: its name, type, labels, buckets, and its registry."""

from typing import NamedTuple

import pytest

from tenure.core.errors import StoreError
from tenure.core.states import State
from tenure.storage.contract import Store
from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.worker import WorkerMetrics
from tests.surfaces.http.serving import serving
from tests.telemetry.scraping import Scrape
from tests.worker.employing import employ, enqueue, reach
from tests.worker.sample import HANDLERS


class Asked(NamedTuple):
    """One metric, as it was asked for."""

    kind: str
    labels: str
    bounds: tuple[float, ...] = ()


CALLS = (0.1, 0.3, 0.5, 1, 2, 5, 10)
SECONDS = (0.1, 0.3, 0.5, 0.7, 1, 3, 5, 7, 10)
OBJECTS = (0.1, 0.3, 0.5, 1, 3, 5, 7, 10)
SIZES = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
LATENCIES = (
    *(10, 30, 50, 70, 100, 300, 500, 700, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5500),
    *(6000, 6500, 7000, 7500, 8000, 8500, 9000, 9500, 10000),
)
OF_THE_API = {
    "http_request_duration_seconds": Asked("histogram", "method route status_code", CALLS),
    "http_requests_total": Asked("counter", "method route status_code"),
    "upload_size_bytes": Asked("histogram", "mime_type", SIZES),
    "db_query_duration_seconds": Asked("histogram", "operation table", CALLS),
    "db_query_error_total": Asked("counter", "operation table error_code"),
    "external_duration_seconds": Asked("histogram", "service operation", CALLS),
    "external_error_total": Asked("counter", "service operation error_code"),
}
OF_WORKERS = {
    "job_processing_duration_seconds": Asked("histogram", "job_type status", SECONDS),
    "job_queue_latency_milliseconds": Asked("histogram", "job_type", LATENCIES),
    "job_processed_total": Asked("counter", "job_type status"),
    "image_processing_errors_total": Asked("counter", "error_type"),
    "s3_operation_duration_seconds": Asked("histogram", "operation bucket", OBJECTS),
    "s3_operation_errors_total": Asked("counter", "operation bucket error_code"),
    "db_query_duration_seconds": Asked("histogram", "query_type", SECONDS),
    "db_query_errors_total": Asked("counter", "query_type error_type"),
    "cloudfront_operation_duration_seconds": Asked("histogram", "operation", OBJECTS),
    "cloudfront_operation_errors_total": Asked("counter", "operation error_code"),
    "job_active_count": Asked("gauge", "job_type"),
    "job_queue_depth": Asked("gauge", "job_type"),
}
OURS = ("tenure_", "job_custom_", "external_", "upload_")
"""How what stands beside them in a worker's registry begins."""


def check(told: Scrape, wanted: dict[str, Asked]) -> None:
    for name, asked in wanted.items():
        found = told.families[name]
        assert found.kind == asked.kind, name
        assert found.labels == set(asked.labels.split()), name
        assert found.bounds == ((*(str(float(end)) for end in asked.bounds), "+Inf") if asked.bounds else ())


async def measured_by(store: Store) -> WorkerMetrics:
    """What a worker has counted whose job has measured something of every kind."""
    metrics = WorkerMetrics()
    handlers = {"measure.process": HANDLERS["echo"]}
    async with employ(store, target="tests.telemetry.measuring:app", handlers=handlers, metrics=metrics):
        await reach(store, await enqueue(store, "measure.process"), State.SUCCEEDED)
    return metrics


async def test_what_workers_time_is_counted_in_the_buckets_of_the_list(store: Store) -> None:
    """S2.52, S2.55, S2.57."""
    told = Scrape(await (await measured_by(store)).text())
    timed = {name: asked for name, asked in OF_WORKERS.items() if asked.bounds}
    assert len(timed) == 5
    check(told, timed)


async def test_what_servers_time_and_weigh_is_counted_in_the_buckets_of_the_list(store: Store) -> None:
    """S2.44, S2.46, S2.47."""
    metrics = ApiMetrics()
    metrics.on(store)
    async with serving(store, metrics=metrics) as api:
        await api.post("/v1/jobs", {"definitionKey": "nope"})
    metrics.external.called("mailer", "send", 0.2, "503")
    timed = {name: asked for name, asked in OF_THE_API.items() if asked.bounds}
    assert len(timed) == 4
    check(Scrape(await metrics.text()), timed)


async def test_a_worker_s_registry_is_the_list_and_what_is_marked_as_ours(store: Store) -> None:
    """S2.51, S2.62."""
    metrics = await measured_by(store)
    measured = metrics.on(store)
    failing = "db_query_errors_total"
    check(Scrape(await metrics.text()), {name: OF_WORKERS[name] for name in OF_WORKERS if name != failing})
    await store.close()
    with pytest.raises(StoreError):
        await measured.now()
    told = Scrape(await metrics.text())
    check(told, {failing: OF_WORKERS[failing]})
    assert {name for name in told.families if not name.startswith(OURS)} == OF_WORKERS.keys()


async def test_a_server_s_registry_is_the_list_and_what_is_marked_as_ours(store: Store) -> None:
    """S2.48, S2.49, S2.50."""
    metrics = ApiMetrics()
    measured = metrics.on(store)
    async with serving(store, metrics=metrics) as api:
        await api.post("/v1/jobs", {"definitionKey": "nope"})
    await store.close()
    with pytest.raises(StoreError):
        await measured.now()
    metrics.external.called("mailer", "send", 0.2, "503")
    told = Scrape(await metrics.text())
    check(told, OF_THE_API)
    assert {name for name in told.families if not name.startswith("tenure_")} == OF_THE_API.keys()
