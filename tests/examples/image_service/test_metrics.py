"""Every metric of the list, at the `/metrics` of the API and of the worker, against what was really done."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.image_service.local_cloud import BUCKET
from tenure import Tenure
from tenure.core.model.states import State
from tests.examples.image_service.cloud import Cloud
from tests.examples.image_service.front import Call, Fault, Front, running_front
from tests.examples.image_service.running_service import RunningService, running_service
from tests.examples.image_service.sent import encoded
from tests.surfaces.command import sql
from tests.telemetry.metrics.test_names import OF_THE_API, OF_WORKERS, check
from tests.telemetry.scrape import Scrape
from tests.until import until

IN_BOTH = {"external_duration_seconds", "external_error_total", "upload_size_bytes"}
"""What a worker shows beside its own list: its handlers' calls are counted as any service's are."""

GOOD, BAD = encoded(seed=100), encoded("PNG", seed=101)[:90]


class Watched(NamedTuple):
    """The service behind two fronts: the calls of its API and those of its worker are told apart."""

    service: RunningService
    api: Front
    worker: Front
    gate: threading.Event

    async def scrapes(self) -> tuple[Scrape, Scrape]:
        urls = (self.service.url, self.service.metrics_url)
        api, worker = [await self.service.http.get(f"{url}/metrics") for url in urls]
        return Scrape(api.content), Scrape(worker.content)

    async def scrapes_of_a_whole_database(self) -> tuple[Scrape, Scrape]:
        """One reading of the store serves a second of scrapes: the first may still tell of its absence."""

        async def is_read_again() -> bool:
            _, worker = await self.scrapes()
            return worker.value("tenure_store_up") == 1

        await until(is_read_again)
        return await self.scrapes()


@pytest.fixture
async def watched(variables: Mapping[str, str], cloud: Cloud, tmp_path: Path) -> AsyncIterator[Watched]:
    """A worker with one slot; it may read uploads when the gate is open."""
    with running_front(lambda: cloud.address) as api, running_front(lambda: cloud.address) as worker:
        gate = threading.Event()
        worker.judge = BreakTwoCalls(gate)
        of_api = {**variables, "AWS_ENDPOINT_URL": api.url}
        # It looks at the store every second while it has nothing to do.
        of_worker = {"AWS_ENDPOINT_URL": worker.url, "TENURE_SLOTS": "1", "TENURE_POLL_SECONDS": "0.1"}
        async with running_service(of_api, tmp_path, of_worker) as service:
            yield Watched(service, api, worker, gate)
        gate.set()


class BreakTwoCalls:
    """Breaks the first call of two kinds, once each."""

    def __init__(self, gate: threading.Event) -> None:
        self.held = 0.0  # for how many seconds the gate has kept the first upload from being read
        self._gate = gate
        self._broken: set[str] = set()

    def __call__(self, call: Call) -> Fault | None:
        if call.operation == "get_object" and call.key.startswith("uploads/"):
            began = time.monotonic()
            self._gate.wait(60)
            self.held = max(self.held, time.monotonic() - began)
        codes = {"put_object": "SlowDown", "create_invalidation": "AccessDenied"}
        if call.operation in codes and call.operation not in self._broken:
            self._broken.add(call.operation)
            return Fault({"SlowDown": 503, "AccessDenied": 403}[codes[call.operation]], codes[call.operation])
        return None


async def test_every_metric_of_the_list_is_there_and_right(watched: Watched, database: str) -> None:
    """S2.44, S2.62, C24: the whole of both expositions, and each value beside what was done."""
    service = watched.service
    waiting = await held_and_waiting(watched)
    images = [(await service.ended(path))["job_id"] for path in waiting]
    refused = Fault(500, "InternalError")
    watched.api.judge = lambda call: refused if call.operation == "put_object" else None
    statuses = [
        (await service.upload(encoded(seed=102))).status_code,
        (await service.upload(b"%PDF-1.7 is no picture")).status_code,
        (await service.upload(GOOD)).status_code,
        (await service.http.get("/nowhere")).status_code,
    ]
    assert statuses == [503, 415, 200, 404]
    await until(lambda: is_removed(watched))
    await break_the_database(watched, database)

    api, worker = await watched.scrapes_of_a_whole_database()
    check(api, OF_THE_API)
    check(worker, OF_WORKERS)
    assert {name for name in api.families if not name.startswith("tenure_")} == OF_THE_API.keys()
    theirs = {name for name in worker.families if not name.startswith(("tenure_", "job_custom_"))}
    assert theirs == OF_WORKERS.keys() | IN_BOTH
    compare_requests(api)
    compare_calls(watched, api, worker)
    await compare_jobs(worker, images, database)


async def held_and_waiting(watched: Watched) -> list[str]:
    """One image at work, and one behind it in line, until the gate is opened; their paths."""
    service = watched.service
    paths = [
        (await service.upload(GOOD)).headers["location"],
        (await service.upload(BAD)).headers["location"],
    ]

    async def is_so() -> bool:
        _, worker = await watched.scrapes()
        kind = {"job_type": "image.process"}
        return (worker.value("job_active_count", **kind), worker.value("job_queue_depth", **kind)) == (1, 1)

    await until(is_so)
    watched.gate.set()
    return paths


async def is_removed(watched: Watched) -> bool:
    """Whether the worker has done the job that removes what the bad picture left."""
    _, worker = await watched.scrapes()
    return worker.value("job_processed_total", job_type="image.delete", status="succeeded") == 1


async def break_the_database(watched: Watched, database: str) -> None:
    """Take a table away until both processes have met its absence: an idle worker reads it at every look."""
    is_sqlite = database.startswith("sqlite")
    away, back = ("tenure_away", "tenure_lease") if is_sqlite else ("away", "lease")
    image = watched.service.url + "/images/01a1f268-dd2d-7410-b11e-bb8db9b8f0dd"

    async def are_counted() -> bool:
        await watched.service.http.get(image)
        api, worker = await watched.scrapes()
        errors = (api.families["db_query_error_total"], worker.families["db_query_errors_total"])
        return all(one.samples for one in errors)

    await asyncio.to_thread(sql, database, f"ALTER TABLE tenure.lease RENAME TO {away}")
    try:
        await until(are_counted)
    finally:
        await asyncio.to_thread(sql, database, f"ALTER TABLE tenure.away RENAME TO {back}")


def compare_requests(api: Scrape) -> None:
    upload = {"method": "POST", "route": "/uploads"}
    counted = {code: api.value("http_requests_total", **upload, status_code=code) for code in CODES}
    assert counted == CODES
    timed = {
        code: api.value("http_request_duration_seconds_count", **upload, status_code=code) for code in CODES
    }
    assert timed == CODES
    # A request that takes a second would be a hundred milliseconds here if the unit were wrong.
    total = sum(api.value("http_request_duration_seconds_sum", **upload, status_code=code) for code in CODES)
    assert 0 < total < 60
    assert api.value("http_requests_total", method="GET", route="none", status_code="404") == 1
    assert api.value("upload_size_bytes_count", mime_type="image/png") == 1
    assert api.value("upload_size_bytes_sum", mime_type="image/png") == len(BAD)
    assert api.value("upload_size_bytes_sum", mime_type="image/jpeg") == 2 * len(GOOD) + len(
        encoded(seed=102)
    )
    # An upload moves its job ahead before it is stored, and lets it run afterwards: two of three come so far.
    assert api.value("db_query_duration_seconds_count", operation="reschedule", table="job") == 5


CODES = {"202": 2, "200": 1, "415": 1, "503": 1}


def compare_calls(watched: Watched, api: Scrape, worker: Scrape) -> None:
    """What was measured is what the fronts have seen, call by call."""
    seen = watched.api.operations()
    for operation, count in seen.items():
        labels = {"service": "s3", "operation": operation}
        assert api.value("external_duration_seconds_count", **labels) == count
    failed = {"service": "s3", "operation": "put_object", "error_code": "InternalError"}
    assert api.value("external_error_total", **failed) == 1

    seen = watched.worker.operations()
    invalidations = seen.pop("create_invalidation")
    assert seen.keys() == {"put_object", "get_object", "list_objects_v2", "delete_object"}
    for operation, count in seen.items():
        labels = {"operation": operation, "bucket": BUCKET}
        assert worker.value("s3_operation_duration_seconds_count", **labels) == count
    read = worker.value("s3_operation_duration_seconds_sum", operation="get_object", bucket=BUCKET)
    assert isinstance(watched.worker.judge, BreakTwoCalls)
    assert 0 < watched.worker.judge.held < read < watched.worker.judge.held + 60
    slow = {"operation": "put_object", "bucket": BUCKET, "error_code": "SlowDown"}
    assert worker.value("s3_operation_errors_total", **slow) == 1
    cloudfront = {"operation": "create_invalidation"}
    assert worker.value("cloudfront_operation_duration_seconds_count", **cloudfront) == invalidations
    assert worker.value("cloudfront_operation_errors_total", **cloudfront, error_code="AccessDenied") == 1
    assert worker.value("image_processing_errors_total", error_type="unreadable") == 1


async def compare_jobs(worker: Scrape, images: list[str], database: str) -> None:
    """What the worker counted of the images is what the database has on record of them."""
    ended: Counter[str] = Counter()
    waited = ran = 0.0
    async with Tenure(database) as app:
        for image in images:
            since: dict[State, datetime] = {}
            for event in await app.handle(image).events():
                if event.target is State.RUNNING and event.type == "started":
                    waited += (event.at - since[State.QUEUED]).total_seconds() * 1000
                elif event.source is State.RUNNING and event.target is not State.RUNNING:
                    ended[event.target] += 1
                    ran += (event.at - since[State.RUNNING]).total_seconds()
                if event.target is not event.source:
                    since[event.target] = event.at
    assert ended == {"succeeded": 1, "retrying": 1, "failed": 1}
    kind = {"job_type": "image.process"}
    for status, count in ended.items():
        assert worker.value("job_processed_total", **kind, status=status) == count
        assert worker.value("job_processing_duration_seconds_count", **kind, status=status) == count
    counted = sum(worker.value("job_processing_duration_seconds_sum", **kind, status=one) for one in ended)
    assert counted == pytest.approx(ran, rel=0.2, abs=0.5)
    assert worker.value("job_queue_latency_milliseconds_count", **kind) == 3
    assert worker.value("job_queue_latency_milliseconds_sum", **kind) == pytest.approx(
        waited, rel=0.05, abs=20
    )
    assert worker.value("db_query_duration_seconds_count", query_type="settle_and_claim") > 0
