"""Pictures go through the service while its API, its worker and its cloud are killed at random.

The whole proof is of 200 pictures, by `make long`; every run makes a small one.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from examples.image_service.jobs import app
from examples.image_service.storage import variant_key
from tests import whole
from tests.examples.image_service.cloud import Cloud, running_cloud
from tests.examples.image_service.front import running_front
from tests.examples.image_service.running_service import RunningService, ServiceProcess, running_service
from tests.examples.image_service.sent import bomb, encoded
from tests.until import until

PICTURES = 200 if whole.IS_WHOLE else 16
SENDERS = 8
LEASE = {"TENURE_LEASE_SECONDS": "3"}
"""A worker that is killed is missed soon."""

ATTEMPTS = next(spec for spec in app.specs() if spec.key == "image.process").policy.max_attempts
LONGEST = 900
"""Seconds for one image: six attempts with their pauses, behind all those that wait as well."""

SIZES = ((40, 30), (320, 200), (200, 320), (900, 700), (1800, 1300))


class Sent(NamedTuple):
    """What is sent, and whether it is a picture."""

    data: bytes
    is_good: bool


def pictures(chance: random.Random) -> list[Sent]:
    """Of all formats, sizes and orientations; every fifth is broken."""
    made = []
    for n in range(PICTURES):
        written_as = chance.choice(["JPEG", "PNG", "WEBP", "GIF"])
        data = encoded(written_as, chance.choice(SIZES), seed=1000 + n, orientation=chance.randint(1, 8))
        if n % 5 == 4:
            broken = data[: chance.randrange(12, len(data) // 2)]
            made.append(Sent(chance.choice([broken, bomb(20_000 + n, 20_000)]), is_good=False))
        else:
            made.append(Sent(data, is_good=True))
    return made


class Stricken(NamedTuple):
    """The service, and the cloud behind a front that stays where it is."""

    service: RunningService
    cloud: Cloud


@pytest.fixture
async def stricken(database: str, tmp_path: Path) -> AsyncIterator[Stricken]:
    async with running_cloud(tmp_path) as cloud:
        with running_front(lambda: cloud.address) as front:
            of_both: Mapping[str, str] = {
                **cloud.variables, **LEASE, "AWS_ENDPOINT_URL": front.url, "TENURE_DATABASE": database,
            }  # fmt: skip
            async with running_service(of_both, tmp_path) as service:
                yield Stricken(service, cloud)


@pytest.mark.timeout(3600)  # two hundred pictures, each of which may wait for what was killed
async def test_every_accepted_upload_ends_in_whole_or_with_a_reason_and_nothing_else_is_left(
    stricken: Stricken,
) -> None:
    """S0.14, S2.30, S2.32: whatever is killed, and whenever."""
    chance = random.Random(26)
    sent = pictures(chance)
    struck, over = Counter[str](), asyncio.Event()
    striking = asyncio.create_task(strike(stricken, chance, struck, over))
    try:
        paths = await send_all(stricken.service, sent)
        await until(lambda: len(struck) == 3, within=300)
    finally:
        over.set()  # a process whose start is cancelled would be nobody's
        await striking
    await revive(stricken)
    ended = [await stricken.service.ended(path, within=LONGEST) for path in paths]

    wanted = set()
    for one, view in zip(sent, ended, strict=True):
        if view["status"] == "completed":
            assert one.is_good
            files = {"original." + ("jpeg" if view["mime_type"] == "image/jpeg" else "png")}
            files = {"original.webp"} if view["mime_type"] == "image/webp" else files
            for name in files | {"web.webp", "thumbnail.webp", "verdict"}:
                wanted.add(variant_key(view["job_id"], name))
            assert view["variants"].keys() == {"original", "web", "thumbnail"}
        else:
            assert view["error"]["text"]
            is_refused = not one.is_good and view["error"]["type"] == "PictureRefused"
            assert is_refused or view["attempts"] == ATTEMPTS, (
                view
            )  # what was killed was in the way each time
    completed = sum(view["status"] == "completed" for view in ended)
    assert completed > len([one for one in sent if one.is_good]) / 2

    async def is_all() -> bool:
        return await stricken.cloud.keys() == wanted

    await until(is_all, within=300)


async def send_all(service: RunningService, sent: list[Sent]) -> list[str]:
    """Send everything, each as often as it takes to be accepted; returns where to find it."""
    room = asyncio.Semaphore(SENDERS)

    async def send(one: Sent) -> str:
        async with room:
            found = await until(lambda: accepted(service, one), within=600)
            return str(found)

    return await asyncio.gather(*map(send, sent))


async def accepted(service: RunningService, one: Sent) -> Any:
    """Where the image is, once it is accepted; what fails for another reason than an outage raises."""
    try:
        answer = await service.upload(one.data)
    except httpx.TransportError:
        return None
    if answer.status_code in {500, 503}:
        return None
    assert answer.status_code in {200, 202}, answer.text
    return answer.headers["location"]


async def strike(
    stricken: Stricken, chance: random.Random, struck: Counter[str], over: asyncio.Event
) -> None:
    """Kill one after the other, each at a moment that nobody has chosen, and start it again."""
    service, cloud = stricken
    victims: dict[str, ServiceProcess | Cloud] = {
        "worker": service.worker, "cloud": cloud, "api": service.api
    }  # fmt: skip
    while not over.is_set():
        for name in chance.sample(sorted(victims), len(victims)):
            await asyncio.sleep(chance.uniform(0.1, 1.5))
            await asyncio.to_thread(victims[name].kill)
            struck[name] += 1
            await victims[name].start()


async def revive(stricken: Stricken) -> None:
    """Start everything anew: the last one may have been killed and not be back."""
    for process in (stricken.service.api, stricken.service.worker, stricken.cloud):
        await asyncio.to_thread(process.kill)
        await process.start()
