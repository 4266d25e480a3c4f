"""The bucket and the distribution in front of it: every call of S3 and CloudFront is in this file.

    uploads/<image>             what was sent, until it is published or removed
    images/<image>/<variant>    what is published of it
    images/<image>/verdict      whether it is published or cancelled; written once

The verdict makes all or nothing of several objects. Whoever writes it first decides: S3 refuses the second.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import IO, Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError

from examples.image_service.settings import Settings

Measure = Callable[..., AbstractContextManager[None]]
"""`instrument.external` in handlers, `app.metrics.external` in the API: they have the same signature."""

# A call that fails is not tried again here: jobs are tried again, and uploads by their senders.
CALLS = AioConfig(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})


def upload_key(image: str) -> str:
    """Where an upload is kept until it is published."""
    return f"uploads/{image}"


def variant_key(image: str, file: str) -> str:
    """Where a variant is published."""
    return f"images/{image}/{file}"


class Storage:
    """One bucket, through open clients."""

    def __init__(self, s3: Any, cloudfront: Any, settings: Settings, measure: Measure) -> None:
        self._s3 = s3
        self._cloudfront = cloudfront
        self._bucket = settings.bucket
        self._distribution = settings.distribution
        self._measure = measure

    async def put(self, key: str, body: bytes | IO[bytes], mime_type: str, **more: str) -> None:
        """Write an object, all of it or nothing; `more` are further terms of `put_object`."""
        await self._call("put_object", Key=key, Body=body, ContentType=mime_type, **more)

    async def get(self, key: str) -> bytes | None:
        """Read an object; None if there is none."""
        if key not in await self.keys(key):  # a question is no error, and is not counted as one
            return None
        answer = await self._call("get_object", Key=key)
        async with answer["Body"] as body:
            found: bytes = await body.read()
        return found

    async def keys(self, prefix: str) -> set[str]:
        """The names of the objects that begin like this; there are never many."""
        answer = await self._call("list_objects_v2", Prefix=prefix)
        return {one["Key"] for one in answer.get("Contents", ())}

    async def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        await self._call("delete_object", Key=key)

    async def verdict(self, image: str) -> dict[str, Any] | None:
        """What was decided about an image, if anything was."""
        found = await self.get(variant_key(image, "verdict"))
        return None if found is None else json.loads(found)

    async def decide(self, image: str, verdict: dict[str, Any]) -> dict[str, Any]:
        """Decide about an image, unless that was done before; returns what holds."""
        if found := await self.verdict(image):
            return found
        key, body = variant_key(image, "verdict"), json.dumps(verdict).encode()
        try:
            await self.put(key, body, "application/json", IfNoneMatch="*")
        except ClientError as error:
            decided = error.response["Error"]["Code"] == "PreconditionFailed"
            if decided and (found := await self.verdict(image)):
                return found
            raise
        return verdict

    async def invalidate(self, image: str, reference: str) -> None:
        """Make CloudFront forget what it knows of an image; the same reference does it once."""
        if not self._distribution:
            return
        paths = {"Quantity": 1, "Items": [f"/{variant_key(image, '*')}"]}
        with self._measure("cloudfront", "create_invalidation"):
            await self._cloudfront.create_invalidation(
                DistributionId=self._distribution,
                InvalidationBatch={"Paths": paths, "CallerReference": reference},
            )

    async def _call(self, operation: str, **terms: Any) -> Any:
        with self._measure("s3", operation, bucket=self._bucket):
            return await getattr(self._s3, operation)(Bucket=self._bucket, **terms)


@asynccontextmanager
async def opened(settings: Settings, measure: Measure) -> AsyncIterator[Storage]:
    """The storage that the settings name; the SDK finds region, credentials and endpoint by itself."""
    session = get_session()
    async with (
        session.create_client("s3", config=CALLS) as s3,
        session.create_client("cloudfront", config=CALLS) as cloudfront,
    ):
        yield Storage(s3, cloudfront, settings, measure)
