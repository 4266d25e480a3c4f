"""Every metric that was asked for, to the letter: its name, type, labels, buckets, and its registry."""

from typing import NamedTuple

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tests.surfaces.http.http_server import serving
from tests.telemetry.scrape import Scrape
from tests.worker.engine_app import HANDLERS
from tests.worker.running_worker import enqueue, reach, run_worker


class Wanted(NamedTuple):
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
    "http_request_duration_seconds": Wanted("histogram", "method route status_code", CALLS),
    "http_requests_total": Wanted("counter", "method route status_code"),
    "upload_size_bytes": Wanted("histogram", "mime_type", SIZES),
    "db_query_duration_seconds": Wanted("histogram", "operation table", CALLS),
    "db_query_error_total": Wanted("counter", "operation table error_code"),
    "external_duration_seconds": Wanted("histogram", "service operation", CALLS),
    "external_error_total": Wanted("counter", "service operation error_code"),
}
OF_WORKERS = {
    "job_processing_duration_seconds": Wanted("histogram", "job_type status", SECONDS),
    "job_queue_latency_milliseconds": Wanted("histogram", "job_type", LATENCIES),
    "job_processed_total": Wanted("counter", "job_type status"),
    "image_processing_errors_total": Wanted("counter", "error_type"),
    "s3_operation_duration_seconds": Wanted("histogram", "operation bucket", OBJECTS),
    "s3_operation_errors_total": Wanted("counter", "operation bucket error_code"),
    "db_query_duration_seconds": Wanted("histogram", "query_type", SECONDS),
    "db_query_errors_total": Wanted("counter", "query_type error_type"),
    "cloudfront_operation_duration_seconds": Wanted("histogram", "operation", OBJECTS),
    "cloudfront_operation_errors_total": Wanted("counter", "operation error_code"),
    "job_active_count": Wanted("gauge", "job_type"),
    "job_queue_depth": Wanted("gauge", "job_type"),
}
OURS = ("tenure_", "job_custom_", "external_", "upload_")
"""How what stands beside them in a worker's registry begins."""


def check(scrape: Scrape, wanted: dict[str, Wanted]) -> None:
    for name, family in wanted.items():
        found = scrape.families[name]
        assert found.kind == family.kind, name
        assert found.labels == set(family.labels.split()), name
        assert found.bounds == (
            (*(str(float(end)) for end in family.bounds), "+Inf") if family.bounds else ()
        )


async def measured_by(store: Store) -> WorkerMetrics:
    """What a worker has counted whose job has measured something of every kind."""
    metrics = WorkerMetrics()
    handlers = {"measure.process": HANDLERS["echo"]}
    async with run_worker(
        store, target="tests.telemetry.measuring_app:app", handlers=handlers, metrics=metrics
    ):
        await reach(store, await enqueue(store, "measure.process"), State.SUCCEEDED)
    return metrics


async def test_what_workers_time_is_counted_in_the_buckets_of_the_list(store: Store) -> None:
    """S2.52, S2.55, S2.57."""
    scrape = Scrape(await (await measured_by(store)).text())
    timed = {name: wanted for name, wanted in OF_WORKERS.items() if wanted.bounds}
    assert len(timed) == 5
    check(scrape, timed)


async def test_what_servers_time_and_weigh_is_counted_in_the_buckets_of_the_list(store: Store) -> None:
    """S2.44, S2.46, S2.47."""
    metrics = ApiMetrics()
    metrics.on(store)
    async with serving(store, metrics=metrics) as api:
        await api.post("/v1/jobs", {"definitionKey": "nope"})
    metrics.external.called("mailer", "send", 0.2, "503")
    timed = {name: wanted for name, wanted in OF_THE_API.items() if wanted.bounds}
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
    scrape = Scrape(await metrics.text())
    check(scrape, {failing: OF_WORKERS[failing]})
    assert {name for name in scrape.families if not name.startswith(OURS)} == OF_WORKERS.keys()


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
    scrape = Scrape(await metrics.text())
    check(scrape, OF_THE_API)
    assert {name for name in scrape.families if not name.startswith("tenure_")} == OF_THE_API.keys()
