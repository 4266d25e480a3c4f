"""The jobs of the service: what a worker does. `tenure worker examples.image_service.jobs:app` runs them.

A job may run more than once: its worker may be killed, or lose its lease, at any line. So each handler looks
at what is there already, and ends in the same state however often it began.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from examples.image_service.pictures import KINDS, NoPicture, Variant, render
from examples.image_service.settings import Settings
from examples.image_service.storage import Storage, opened, upload_key, variant_key
from tenure import Context, Fatal, Tenure, backoff, instrument

app = Tenure()


@dataclass
class Picture:
    """An upload, as its sender described it and as its bytes are."""

    sha256: str
    mime_type: str
    size: int
    name: str


@dataclass
class Image:
    """An image, by the id of the job that processes it."""

    image: str


class PictureRefused(Fatal):
    """The picture itself is at fault: no further attempt would help."""


class UploadMissing(Fatal):
    """The upload never arrived in whole: its sender, or the API, was gone before its end."""


class UploadCancelled(Fatal):
    """Somebody asked for it, by a job of the type `image.cancel`."""


@app.job(
    "image.process",
    timeout=120,
    memory="1G",
    cpu=60,
    max_attempts=6,
    retry=backoff(base=1, cap=60),
)
async def process(params: Picture, ctx: Context) -> dict[str, Any]:
    """Publish the variants of an upload: all of them, or none."""
    image, settings = str(ctx.job_id), Settings.from_environment()
    async with opened(settings, instrument.external) as storage:
        verdict = await storage.verdict(image)
        if verdict is None:
            variants = await _rendered(params, storage, settings, ctx)
            await _put_missing(image, params.name, variants, storage, ctx)
            # The paths are new, but who guessed one early has made CloudFront remember that it is not there.
            await storage.invalidate(image, ctx.idempotency_key("published"))
            verdict = await storage.decide(image, {"variants": _described(image, variants)})
        if "cancelled_by" in verdict:
            raise UploadCancelled(f"cancelled on request, by job {verdict['cancelled_by']}")
        await storage.delete(upload_key(image))
    return verdict


@app.job("image.cancel", timeout=60, max_attempts=10, retry=backoff(base=1, cap=60))
async def cancel(params: Image, ctx: Context) -> dict[str, bool]:
    """Decide that an image is not published, unless it has been."""
    async with opened(Settings.from_environment(), instrument.external) as storage:
        if not await storage.keys(upload_key(params.image)):
            return {"cancelled": False}
        verdict = await storage.decide(params.image, {"cancelled_by": str(ctx.job_id)})
        is_ours = verdict.get("cancelled_by") == str(ctx.job_id)
        # It ended in the meantime, and nobody would read or remove what was just decided.
        if is_ours and not await storage.keys(upload_key(params.image)):
            await storage.delete(variant_key(params.image, "verdict"))
    return {"cancelled": "cancelled_by" in verdict}


@app.job("image.delete", timeout=60, max_attempts=20, retry=backoff(base=1, cap=300))
async def delete(params: Image, ctx: Context) -> dict[str, int]:
    """Remove all that there is of an image that is published, or was not and never will be."""
    async with opened(Settings.from_environment(), instrument.external) as storage:
        uploads = await storage.keys(upload_key(params.image))
        published = await storage.keys(variant_key(params.image, ""))
        # The upload goes first, and the verdict last: `cancel` relies on that.
        verdict = variant_key(params.image, "verdict")
        for key in [*uploads, *(published - {verdict}), *(published & {verdict})]:
            await storage.delete(key)
        await storage.invalidate(params.image, ctx.idempotency_key("deleted"))
    return {"removed": len(uploads | published)}


async def _rendered(params: Picture, storage: Storage, settings: Settings, ctx: Context) -> list[Variant]:
    upload = await storage.get(upload_key(str(ctx.job_id)))
    if upload is None:
        raise UploadMissing("the upload was never finished: send it again")
    ctx.emit("stage", {"stage": "rendering"})
    try:
        return await asyncio.to_thread(render, upload, KINDS[params.mime_type], settings.most_pixels)
    except NoPicture as error:
        instrument.image_error(error.error_type)
        raise PictureRefused(str(error)) from error


async def _put_missing(
    image: str, name: str, variants: list[Variant], storage: Storage, ctx: Context
) -> None:
    """Write what no earlier attempt has written: what is there was written in whole, from the same upload."""
    there = await storage.keys(variant_key(image, ""))
    for variant in variants:
        ctx.emit("stage", {"stage": variant.name})
        if (key := variant_key(image, variant.file)) not in there:
            await storage.put(
                *(key, variant.data, variant.mime_type),
                CacheControl="public, max-age=31536000, immutable",
                ContentDisposition=_disposition(name, variant),
            )


def _disposition(name: str, variant: Variant) -> str:
    """What a browser calls the file when it is saved."""
    stem = name.rpartition(".")[0] or name
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_ ") else "_" for one in stem)
    return f'inline; filename="{plain}-{variant.file}"'


def _described(image: str, variants: list[Variant]) -> dict[str, Any]:
    return {
        one.name: {
            "key": variant_key(image, one.file),
            "mime_type": one.mime_type,
            "width": one.width,
            "height": one.height,
            "size": len(one.data),
        }
        for one in variants
    }
