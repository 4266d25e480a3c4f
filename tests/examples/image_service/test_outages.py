"""S3 and CloudFront that fail, deny, or whose answers are lost: nothing twice, and nothing half."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from examples.image_service import jobs, uploads
from examples.image_service.settings import Settings
from examples.image_service.storage import Storage, opened, upload_key, variant_key
from tenure import JobHandle, State
from tenure.testing import harness
from tests.examples.image_service.cloud import Cloud
from tests.examples.image_service.front import Call, Fault, Front, Judge, running_front
from tests.examples.image_service.running_service import RunningService, running_service
from tests.examples.image_service.sent import encoded
from tests.until import until

CALLS = 11
"""The calls of an attempt that nothing disturbs."""

FAULTS = (
    Fault(500, "InternalError"),
    Fault(503, "SlowDown"),
    Fault(403, "AccessDenied"),
    Fault(),
    Fault(is_done=True),
)
"""Refusals of each kind, no answer, and an answer that is lost after the call was carried out."""


class BreakOneCallOfEach:
    """Breaks, of the n-th image that it meets, the n-th call."""

    def __init__(self) -> None:
        self.images: dict[str, int] = {}
        self._calls: Counter[str] = Counter()

    def __call__(self, call: Call) -> Fault | None:
        which = self.images.setdefault(call.image, len(self.images))
        self._calls[call.image] += 1
        return FAULTS[which % len(FAULTS)] if self._calls[call.image] == which + 1 else None


@pytest.fixture
def front(cloud: Cloud) -> Iterator[Front]:
    with running_front(lambda: cloud.address) as front:
        yield front


@pytest.fixture
async def service(
    variables: Mapping[str, str], front: Front, tmp_path: Path
) -> AsyncIterator[RunningService]:
    """A service whose worker meets the cloud behind the front."""
    async with running_service(variables, tmp_path, {"AWS_ENDPOINT_URL": front.url}) as service:
        yield service


async def test_whichever_call_fails_the_image_is_published_once_and_in_whole(
    service: RunningService, front: Front, cloud: Cloud
) -> None:
    """S2.12, S2.14: each call of an attempt fails once, in another way each; the next attempt ends it."""
    front.judge = judge = BreakOneCallOfEach()
    sent = [await service.upload(encoded(seed=200 + n)) for n in range(CALLS)]
    ended = [await service.ended(answer.headers["location"]) for answer in sent]
    assert {one["status"] for one in ended} == {"completed"}
    assert judge.images.keys() == {one["job_id"] for one in ended}
    for one in ended:
        check_order(front, one["job_id"])
        # The SDK's own connection repeats some calls whose answer never came.
        is_refused = FAULTS[judge.images[one["job_id"]] % len(FAULTS)].status != 0
        assert one["attempts"] in ({2} if is_refused else {1, 2})
    kept = await cloud.keys()
    for one in ended:
        files = {key for key in kept if one["job_id"] in key}
        names = ("original.jpeg", "web.webp", "thumbnail.webp", "verdict")
        assert files == {variant_key(one["job_id"], name) for name in names}


def check_order(front: Front, image: str) -> None:
    """Each variant was written once, and the verdict, which publishes them, after all of them."""
    written = [
        one.call.key for one in front.of(image) if one.call.operation == "put_object" and one.status == 200
    ]
    assert len(written) == len(set(written))
    lost = [one.call.key for one in front.of(image) if one.call.operation == "put_object" and not one.status]
    assert not [key for key in lost if written.count(key) > 1]
    verdict = variant_key(image, "verdict")
    if verdict in written:
        assert written[-1] == verdict


async def test_an_image_at_work_is_cancelled_by_a_job_of_its_own(
    service: RunningService, front: Front, cloud: Cloud
) -> None:
    """S2.23, S2.24: the worker leads it to failed, not the API, and nothing of it is left."""
    gate = threading.Event()

    def hold_variants(call: Call) -> Fault | None:
        if call.operation == "put_object" and not call.key.endswith("verdict"):
            gate.wait(60)
        return None

    front.judge = hold_variants
    data = encoded(seed=250)
    image = (await service.upload(data)).json()
    await until(lambda: any(one.call.operation == "get_object" for one in front.of(image["job_id"])))
    asked = await service.http.post(image["links"]["cancel"])
    assert (asked.status_code, asked.json()["job_type"]) == (202, "image.cancel")
    done = await service.ended(asked.json()["links"]["self"])
    gate.set()
    assert (done["status"], done["result"]) == ("completed", {"cancelled": True})
    ended = await service.ended(image["links"]["self"])
    assert (ended["status"], ended["error"]["type"]) == ("failed", "UploadCancelled")
    assert done["job_id"] in ended["error"]["text"]

    async def is_clean() -> bool:
        return not [key for key in await cloud.keys() if image["job_id"] in key]

    await until(is_clean)
    late = await service.http.post(image["links"]["cancel"])
    assert (late.status_code, late.json()["error"]) == (409, "ended")
    # Who sends it again wants it.
    again = await service.published(data)
    assert (again["status"], again["job_id"] == image["job_id"]) == ("completed", False)
    late = await service.http.post(again["links"]["self"] + "/cancel")
    assert late.status_code == 409


async def test_an_upload_that_cannot_be_stored_is_not_accepted(
    variables: Mapping[str, str], front: Front, cloud: Cloud, tmp_path: Path
) -> None:
    """The sender is told to try again, and nothing of it is in the bucket; then the same image is made."""
    data = encoded(seed=300)
    async with running_service({**variables, "AWS_ENDPOINT_URL": front.url}, tmp_path) as service:
        images = []
        for fault in FAULTS[:4]:
            front.judge = puts(fault)
            answer = await service.upload(data)
            assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
            assert answer.headers["retry-after"] == "1"
            images.append(front.answered[-1].call.image)
        assert not [key for key in await cloud.keys() if images[0] in key]
        front.judge = lambda _: None
        image = await service.published(data)
        assert (image["status"], {image["job_id"]}) == ("completed", set(images))


async def test_an_upload_whose_job_could_not_wait_for_it_is_not_accepted_without_it(
    cloud: Cloud, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.30: the storage was away for longer than a job waits; then the sender begins anew."""
    data = encoded(seed=350)
    picture = jobs.Picture(sha256(data).hexdigest(), "image/jpeg", len(data), "a.jpg")

    async def send(storage: Storage, settings: Settings) -> Any:
        return await uploads.accept(uploads.Upload(picture, BytesIO(data)), storage, settings)

    with pointed({**cloud.variables, "AWS_ENDPOINT_URL": front.url}, monkeypatch):
        settings = Settings.from_environment()
        async with harness(jobs.app) as t, opened(settings, jobs.app.metrics.external) as storage:
            front.judge = puts(Fault(503, "SlowDown"))
            for _ in range(2):  # with each try it waits from then on
                with pytest.raises(ClientError):
                    await send(storage, settings)
                await t.advance(settings.upload_seconds * 1.5)
            job = await process_of(picture)
            assert (await job.get()).state is State.SCHEDULED
            front.judge = lambda _: Fault(503, "SlowDown")
            await job.run_now()
            await t.drain()
            assert (await job.get()).state is State.RETRYING
            front.judge = lambda _: None
            with pytest.raises(uploads.Refused, match="never arrived in whole: send it again") as refused:
                await send(storage, settings)
            assert refused.value.status == 503
            await t.advance(60)
            assert "UploadMissing" in str((await job.get()).error)
            again = await send(storage, settings)
            await t.drain()
            assert (again.id != job.id, (await again.get()).state) == (True, State.SUCCEEDED)


async def process_of(picture: jobs.Picture) -> JobHandle[Any]:
    """The job of a content, which was recorded before."""
    return await jobs.process.enqueue(picture, idempotency_key=picture.sha256, delay=240)


def puts(fault: Fault) -> Judge:
    """Breaks everything that is written."""
    return lambda call: fault if call.operation == "put_object" else None


@contextmanager
def pointed(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        yield


async def test_storage_that_denies_for_good_fails_the_image_with_its_reason(
    cloud: Cloud, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.13, S2.15, S2.29: after six attempts, on a clock that the test moves."""
    front.judge = puts(Fault(403, "AccessDenied"))
    variables = {**cloud.variables, "AWS_ENDPOINT_URL": front.url}
    picture = jobs.Picture("0" * 64, "image/jpeg", 1, "a.jpg")
    with pointed(variables, monkeypatch):
        async with harness(jobs.app) as t, cloud.client("s3") as s3:
            job = await jobs.process.enqueue(picture)
            await s3.put_object(Bucket="pictures", Key=upload_key(str(job.id)), Body=encoded(seed=400))
            await t.drain()
            assert (await job.get()).word("worker") == "failed_retryable"
            await t.advance(600)
            assert (await job.get()).word("worker") == "failed"
            assert [one.type for one in await job.events()].count("retrying") == 5
            assert "AccessDenied" in str((await job.get()).error)
            # What the API asks for when it reads of that end.
            front.judge = lambda _: None
            await jobs.delete.enqueue(jobs.Image(str(job.id)))
            await t.drain()
    assert not [key for key in await cloud.keys() if str(job.id) in key]


async def test_an_upload_that_is_written_after_the_end_is_not_left(
    cloud: Cloud, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes take the same content; one of them is so slow that the image is published before."""
    variables = {**cloud.variables, "AWS_ENDPOINT_URL": front.url}
    data, written, gate = encoded(seed=500), threading.Event(), threading.Event()

    def hold_the_second(call: Call) -> Fault | None:
        if call.key.startswith("uploads/") and call.operation == "put_object":
            if written.is_set():
                gate.wait(60)
            written.set()
        return None

    front.judge = hold_the_second
    with pointed(variables, monkeypatch):
        settings = Settings.from_environment()
        picture = jobs.Picture(sha256(data).hexdigest(), "image/jpeg", len(data), "a.jpg")
        async with harness(jobs.app) as t, opened(settings, jobs.app.metrics.external) as storage:
            first, second = (
                asyncio.create_task(uploads.accept(uploads.Upload(picture, BytesIO(data)), storage, settings))
                for _ in range(2)
            )
            done, _ = await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
            [job] = [one.result() for one in done]
            await t.drain()
            assert (await job.get()).word("worker") == "completed"
            gate.set()
            assert {(await first).id, (await second).id} == {job.id}
    assert upload_key(str(job.id)) not in await cloud.keys()
    assert variant_key(str(job.id), "verdict") in await cloud.keys()
