"""`app.metrics`: what a program that enqueues counts of itself, and shows to Prometheus."""

import asyncio
import threading
from uuid import uuid4

import pytest

from tenure import InvalidInput, JobNotFound, StoreError, Tenure
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tests.storage.backends import Backend
from tests.telemetry.scrape import Scrape


async def scraped(app: Tenure) -> Scrape:
    return Scrape(await app.metrics.text())


async def test_it_has_the_families_of_the_server(app: Tenure) -> None:
    """S2.44, S2.45, S2.46: the same names, labels and buckets."""
    ours, servers = Scrape(await app.metrics.text()), Scrape(await ApiMetrics().text())
    lag = "tenure_loop_lag_seconds"
    assert lag in servers.families
    assert ours.families == {name: one for name, one in servers.families.items() if name != lag}


async def test_requests_uploads_and_calls_are_counted(app: Tenure) -> None:
    """S2.44, S2.49, S2.50."""
    app.metrics.request("POST", "/uploads", 202, 0.4)
    app.metrics.request("POST", "/uploads", 202, 4)
    app.metrics.request("BREW", "/uploads", 418, 0.1)
    app.metrics.upload("image/png", 3000)
    with app.metrics.external("s3", "put_object", bucket="pictures"):
        pass
    with pytest.raises(LookupError), app.metrics.external("s3", "get_object"):
        raise LookupError
    found = await scraped(app)
    posted = {"method": "POST", "route": "/uploads", "status_code": "202"}
    assert found.value("http_requests_total", **posted) == 2
    assert found.value("http_requests_total", method="other", route="/uploads", status_code="418") == 1
    assert found.value("http_request_duration_seconds_sum", **posted) == 4.4
    assert found.value("http_request_duration_seconds_bucket", **posted, le="0.5") == 1
    assert found.value("upload_size_bytes_bucket", mime_type="image/png", le="4096.0") == 1
    assert found.value("upload_size_bytes_bucket", mime_type="image/png", le="2048.0") == 0
    assert found.value("external_duration_seconds_count", service="s3", operation="put_object") == 1
    failed = {"service": "s3", "operation": "get_object", "error_code": "LookupError"}
    assert found.value("external_error_total", **failed) == 1


async def test_calls_of_the_database_are_counted_from_its_opening(app: Tenure) -> None:
    """S2.47, S2.48."""
    metrics = app.metrics

    @app.job("work")
    def work() -> None: ...

    for _ in range(12):  # enough for a store on this loop, where there is one
        await work.enqueue()
    await asyncio.to_thread(work.enqueue_sync)
    with pytest.raises(JobNotFound):
        await app.handle(uuid4()).get()
    found = Scrape(await metrics.text())
    assert found.value("db_query_duration_seconds_count", operation="enqueue", table="job") == 13
    assert found.value("db_query_duration_seconds_count", operation="get", table="job") == 1
    assert not found.families["db_query_error_total"].samples


async def test_a_call_of_the_database_that_fails_is_counted_with_its_error(
    app: Tenure, backend: Backend, database_kind: str
) -> None:
    """S2.48."""
    metrics = app.metrics

    @app.job("work")
    def work() -> None: ...

    job = await work.enqueue()
    away = {"sqlite": "tenure_away", "postgres": "away"}[database_kind]
    await backend.forge(f"ALTER TABLE tenure.job RENAME TO {away}")
    try:
        with pytest.raises(StoreError):
            await job.get()
    finally:
        back = {"sqlite": "tenure_job", "postgres": "job"}[database_kind]
        await backend.forge(f"ALTER TABLE tenure.away RENAME TO {back}")
    found = Scrape(await metrics.text())
    [((_, labels), count)] = found.families["db_query_error_total"].samples.items()
    assert (dict(labels)["operation"], dict(labels)["table"], count) == ("get", "job", 1)


async def test_threads_lose_nothing(app: Tenure) -> None:
    metrics = app.metrics

    def count() -> None:
        for n in range(2000):
            metrics.request("GET", f"/{n % 50}", 200, 0.01)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        await metrics.text()
    for thread in threads:
        thread.join()
    found = Scrape(await metrics.text())
    assert sum(found.families["http_requests_total"].samples.values()) == 16_000


async def test_the_state_of_a_record_has_the_words_of_others(app: Tenure) -> None:
    """S2.5, S2.9."""

    @app.job("work")
    def work() -> None: ...

    job = await work.enqueue()
    assert (await job.get()).word("worker") == "queued"
    assert (await job.get()).word("tasks") == "Ready"
    await job.cancel()
    assert (await job.get()).word("worker") == "failed"
    assert (await job.get()).word("orchestrator") is None
    with pytest.raises(InvalidInput, match="use one of orchestrator, server, worker, queue, tasks"):
        (await job.get()).word("klingon")
