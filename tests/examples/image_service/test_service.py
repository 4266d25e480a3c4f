"""The service as its users meet it: real processes, on each store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from tests.examples.image_service.cloud import Cloud
from tests.examples.image_service.running_service import RunningService
from tests.examples.image_service.sent import SECRET, bomb, encoded, opened
from tests.until import until

FILES = {"original.jpeg", "web.webp", "thumbnail.webp", "verdict"}


async def of_image(cloud: Cloud, image: str) -> set[str]:
    """The files of one image in the bucket, its upload among them."""
    return {key.rpartition("/")[2] for key in await cloud.keys() if image in key}


@pytest.mark.both_stores
async def test_a_picture_is_published_in_all_its_variants(service: RunningService, cloud: Cloud) -> None:
    """S2.6, S2.7, S2.21: the API records it as queued, and a worker leads it to its end."""
    answer = await service.upload(encoded(size=(1800, 900), seed=1), "holiday.jpg", "image/jpeg")
    assert answer.status_code == 202
    view = answer.json()
    assert (view["job_type"], view["status"], view["attempts"]) == ("image.process", "queued", 0)
    assert view["links"]["self"] == answer.headers["location"]

    told = await service.followed(view["links"]["events"])
    words = list(dict.fromkeys(one["status"] for one in told))
    assert words in (["queued", "processing", "completed"], ["processing", "completed"])
    assert told[-1]["variants"].keys() == {"original", "web", "thumbnail"}
    assert told[-1]["links"].keys() == {"self", "events", "delete"}
    for one in told[-1]["variants"].values():
        got = (await service.http.get(one["url"])).raise_for_status()
        assert got.headers["content-type"] == one["mime_type"]
        assert SECRET.encode() not in got.content
        assert (len(got.content), opened(got.content).size) == (one["size"], (one["width"], one["height"]))
    assert await of_image(cloud, view["job_id"]) == FILES
    assert f"/images/{view['job_id']}/*" in await cloud.invalidated()


@pytest.mark.both_stores
async def test_the_same_content_is_one_image(service: RunningService, cloud: Cloud) -> None:
    """S2.30: another name makes no other image, nor does sending it ten times at once."""
    data = encoded(seed=2)
    answers = await asyncio.gather(*(service.upload(data, f"copy {n}.jpg") for n in range(10)))
    assert {answer.status_code for answer in answers} <= {200, 202}, [answer.text for answer in answers]
    [image] = {answer.json()["job_id"] for answer in answers}
    first = await service.ended(f"/images/{image}")
    assert first["attempts"] == 1
    again = await service.upload(data, "another name.jpg")
    assert (again.status_code, again.json()) == (200, first)
    assert await of_image(cloud, image) == FILES


@pytest.mark.both_stores
async def test_a_deleted_image_is_gone_and_may_be_sent_again(service: RunningService, cloud: Cloud) -> None:
    """S2.23: deletion is asked for by a job of another type."""
    data = encoded(seed=3)
    image = await service.published(data)
    asked = await service.http.delete(image["links"]["delete"])
    assert (asked.status_code, asked.json()["job_type"]) == (202, "image.delete")
    assert asked.json()["links"]["image"] == image["links"]["self"]
    done = await service.ended(asked.json()["links"]["self"])
    assert (done["status"], done["result"]) == ("completed", {"removed": 4})
    assert await of_image(cloud, image["job_id"]) == set()
    gone = await service.http.get(image["links"]["self"])
    assert (gone.status_code, gone.json()["error"]) == (410, "deleted")
    assert (await service.http.delete(image["links"]["self"])).json()["job_id"] == done["job_id"]

    new = await service.published(data)
    assert new["job_id"] != image["job_id"]
    assert await of_image(cloud, new["job_id"]) == FILES


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: encoded(size=(900, 900), seed=5)[:3000], "cannot be read"),
        (lambda: encoded("PNG", seed=5)[:60], "cannot be read"),
        (lambda: bomb(10_000, 10_000), "100 megapixels"),
        (lambda: bomb(40_000, 40_000), "1600 megapixels"),
    ],
    ids=["truncated", "a head alone", "a hundred megapixels", "a bomb"],
)
async def test_what_is_no_picture_fails_once_with_its_reason(
    service: RunningService, cloud: Cloud, made: Callable[[], bytes], reason: str
) -> None:
    """S2.13: nothing is tried again that would fail again, and nothing is left in the bucket."""
    data = made()
    image = await service.published(data)
    assert (image["status"], image["attempts"], image["variants"]) == ("failed", 1, None)
    assert image["error"]["type"] == "PictureRefused"
    assert reason in image["error"]["text"]
    await until(lambda: _is_clean(cloud, image["job_id"]))
    assert (await service.upload(data)).json()["job_id"] == image["job_id"]


@pytest.mark.parametrize(
    ("name", "said_type", "data", "status", "error"),
    [
        ("a.jpg", "image/jpeg", b"", 422, "empty"),
        ("a.jpg", "image/jpeg", b"%PDF-1.7 and more", 415, "no-picture"),
        ("a.jpg", "image/jpeg", b"\xff\xd8", 415, "no-picture"),
        ("a.jpg", "image/png", encoded(seed=6), 415, "wrong-type"),
        ("a.jpg", "image/jpeg", encoded(seed=6) + b"\0" * 20_000_000, 413, "too-large"),
        ("../../etc/passwd", "", encoded(seed=6), 422, "bad-name"),
        ("C:\\a.jpg", "", encoded(seed=6), 422, "bad-name"),
        ("..", "", encoded(seed=6), 422, "bad-name"),
        ("a\nb.jpg", "", encoded(seed=6), 422, "bad-name"),
        ("", "", encoded(seed=6), 422, "bad-name"),
        ("a" * 201, "", encoded(seed=6), 422, "bad-name"),
    ],
)
async def test_a_bad_upload_is_refused_and_leaves_nothing(
    service: RunningService, cloud: Cloud, name: str, said_type: str, data: bytes, status: int, error: str
) -> None:
    before = await cloud.keys()
    answer = await service.upload(data, name, said_type)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert len(answer.json()["detail"]) > 20
    assert await cloud.keys() <= before


async def test_a_body_without_a_length_is_refused_once_it_is_too_long(service: RunningService) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield encoded(seed=7)
        for _ in range(400):
            yield b"\0" * 100_000

    answer = await service.http.post("/uploads", params={"name": "a.jpg"}, content=endless())
    assert (answer.status_code, answer.json()["error"]) == (413, "too-large")


async def test_what_is_not_there_is_not_found(service: RunningService) -> None:
    image = await service.published(encoded(seed=8))
    request = (await service.http.delete(image["links"]["self"])).json()["job_id"]
    for path in (f"/images/{uuid4()}", f"/jobs/{uuid4()}", f"/images/{request}", f"/jobs/{image['job_id']}"):
        assert (await service.http.get(path)).status_code == 404
    for method, path, named in (("GET", "/images/no-id", "image: "), ("POST", "/uploads", "name: ")):
        answer = await service.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]) == (422, "bad-request")
        assert answer.json()["detail"].startswith(named)


async def _is_clean(cloud: Cloud, image: str) -> bool:
    return await of_image(cloud, image) == set()
