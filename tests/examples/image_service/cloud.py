"""moto's server in a process of its own: S3, SQS and CloudFront, which keep what they have when it is killed.

moto forgets everything with its process. So it writes down each request before it carries it out, and a new
process does all of them again before it is shown to anybody.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from aiobotocore.session import get_session

from examples.image_service.local_cloud import BUCKET, CREDENTIALS, prepare
from tests.ports import free_port
from tests.until import until

FIRST = '{"headers": '
"""How each request begins in the recording."""


class Cloud:
    """The server, and what is in its bucket."""

    def __init__(self, folder: Path) -> None:
        self._recording = folder / "requests"
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.variables: Mapping[str, str] = {}

    async def start(self) -> None:
        if self.variables:
            self._mend()
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        recording = {"MOTO_ENABLE_RECORDING": "1", "MOTO_RECORDER_FILEPATH": str(self._recording)}
        self._process = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, "-m", "moto.server", "-p", str(port)],
            env={**os.environ, **recording},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        async with httpx.AsyncClient(base_url=address, timeout=600) as http:
            await until(lambda: _answers(http))
            if self.variables:
                (await http.post("/moto-api/recorder/replay-recording")).raise_for_status()
            else:
                # Ids are made by chance, and have to be the same when all is done again.
                (await http.post("/moto-api/seed?a=26")).raise_for_status()
                self.variables = await prepare(address)
        # Only now: what is asked while it does all again is not written down, and would be lost.
        self.address = address

    def _mend(self) -> None:
        """Leave whole requests, one a line: moto writes them by several threads, and is killed in between.

        One that was not written to its end was not carried out.
        """
        text, decoder, whole = self._recording.read_text(), json.JSONDecoder(), list[str]()
        begin = text.find(FIRST)
        while begin >= 0:
            try:
                _, end = decoder.raw_decode(text, begin)
            except json.JSONDecodeError:
                end = begin + 1
            else:
                whole.append(text[begin:end] + "\n")
            begin = text.find(FIRST, end)
        self._recording.write_text("".join(whole))

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    async def keys(self) -> set[str]:
        """The names of all that is in the bucket."""
        async with self.client("s3") as s3:
            pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
            return {one["Key"] async for page in pages for one in page.get("Contents", ())}

    async def invalidated(self) -> list[str]:
        """The paths that CloudFront was told to forget."""
        async with self.client("cloudfront") as cloudfront:
            distribution = self.variables["IMAGES_DISTRIBUTION"]
            listed = (await cloudfront.list_invalidations(DistributionId=distribution))["InvalidationList"]
            found = [
                await cloudfront.get_invalidation(DistributionId=distribution, Id=one["Id"])
                for one in listed.get("Items", ())
            ]
        return [path for one in found for path in one["Invalidation"]["InvalidationBatch"]["Paths"]["Items"]]

    def client(self, service: str) -> Any:
        """A client of the SDK."""
        return get_session().create_client(
            service,
            endpoint_url=self.address,
            region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )


@asynccontextmanager
async def running_cloud(folder: Path) -> AsyncIterator[Cloud]:
    cloud = Cloud(folder)
    try:
        await cloud.start()
        yield cloud
    finally:
        await asyncio.to_thread(cloud.kill)


async def _answers(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/moto-api/data.json")).is_success
    except httpx.TransportError:
        return False
