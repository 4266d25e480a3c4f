"""What handlers measure reaches their worker, from every lane; and elsewhere it does no harm."""

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tenure import InvalidInput, instrument
from tenure.core.model.retry import Returned
from tenure.core.signals import Measured
from tenure.execution.handler.metrics import Metrics
from tenure.execution.lanes import Lanes
from tenure.execution.parent import reports
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tests.execution.attempts import ROOT, Recorder, run
from tests.telemetry import measuring_app
from tests.telemetry.scrape import Scrape


@pytest_asyncio.fixture
async def lanes() -> AsyncIterator[Lanes]:
    lanes = Lanes("tests.telemetry.measuring_app:app", folder=ROOT, environment=ChildEnvironment(os.environ))
    await lanes.start()
    yield lanes
    await lanes.close()


async def counted(recorder: Recorder) -> Scrape:
    """What a worker exposes of these measurements."""
    metrics = WorkerMetrics()
    for what, labels, value in recorder.measures:
        metrics(Measured("measure", what, labels, value))
    return Scrape(await metrics.text())


@pytest.mark.parametrize("lane", measuring_app.LANES)
async def test_measurements_are_counted_in_the_families_that_they_are_for(lanes: Lanes, lane: str) -> None:
    """S2.54, S2.55, S2.56."""
    recorder = Recorder()
    ended = await run(lanes.named(lane), f"measure.{lane}", {}, recorder=recorder)
    assert ended.end == Returned('"sent"')  # type: ignore[arg-type]
    scrape = await counted(recorder)
    bucket = {"operation": "put", "bucket": "photos"}
    assert scrape.value("s3_operation_duration_seconds_count", **bucket) == 2
    assert scrape.value("s3_operation_errors_total", **bucket, error_code="NoSuchBucket") == 1
    assert scrape.value("image_processing_errors_total", error_type="ValueError") == 1
    assert scrape.value("upload_size_bytes_bucket", mime_type="image/png", le="4096.0") == 1
    assert scrape.value("upload_size_bytes_bucket", mime_type="image/png", le="2048.0") == 0


async def test_calls_are_counted_by_service_and_failures_by_code(lanes: Lanes) -> None:
    """S2.49, S2.59, S2.60."""
    recorder = Recorder()
    await run(lanes.named("process"), "measure.process", {}, recorder=recorder)
    scrape = await counted(recorder)
    assert scrape.value("external_duration_seconds_count", service="mailer", operation="send") == 1
    assert scrape.value("cloudfront_operation_duration_seconds_count", operation="invalidate") == 1
    failed = {"operation": "invalidate", "error_code": "TimeoutError"}
    assert scrape.value("cloudfront_operation_errors_total", **failed) == 1
    assert scrape.value("external_error_total", service="cloudfront", **failed) == 1


async def test_a_handler_s_own_numbers_are_told_by_their_names(lanes: Lanes) -> None:
    recorder = Recorder()
    await run(lanes.named("process"), "measure.process", {}, recorder=recorder)
    scrape = await counted(recorder)
    assert scrape.value("job_custom_total", job_type="measure", name="pages") == 4
    assert scrape.value("job_custom_value_sum", job_type="measure", name="width") == 640


async def test_who_measures_too_much_is_told_so_and_runs_on(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "MOST_MEASURES", 100)
    recorder = Recorder()
    ended = await run(lanes.named("process"), "flood", {"n": 150}, recorder=recorder)
    assert ended.end == Returned("null")  # type: ignore[arg-type]
    assert len(recorder.measures) == 100
    assert recorder.texts("warning") == ["more than 100 measurements; the rest is dropped"]


def test_outside_of_an_attempt_nobody_is_told() -> None:
    with instrument.external("s3", "put", bucket="b"):
        pass
    assert measuring_app.send() == "sent"
    instrument.upload("image/png", 1)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_what_is_no_number_of_anything_is_refused(value: float) -> None:
    metrics = Metrics(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="value"):
        metrics.count("n", value)
    with pytest.raises(InvalidInput, match="name"):
        metrics.count("no name")


def test_the_code_of_a_failure_is_what_the_other_side_said() -> None:
    class Answered(Exception):
        class response:  # noqa: N801
            status_code = 503

    assert instrument.error_code(Answered()) == "503"
    assert instrument.error_code(measuring_app.Refused()) == "NoSuchBucket"
    assert instrument.error_code(KeyError("x")) == "KeyError"
