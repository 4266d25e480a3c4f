"""An app whose handlers measure something, in every lane."""

import asyncio
from typing import Any, Literal

from tenure import Context, Tenure, instrument

app = Tenure()


class Refused(Exception):
    """As clients of AWS raise it."""

    response = {"Error": {"Code": "NoSuchBucket"}}  # noqa: RUF012


@instrument.external("mailer", "send")
def send() -> str:
    return "sent"


@instrument.external("mailer", "send")
async def send_later() -> str:
    await asyncio.sleep(0)
    return "sent"


def measure(ctx: Context) -> None:
    with instrument.external("s3", "put", bucket="photos"):
        pass
    try:
        with instrument.external("s3", "put", bucket="photos"):
            raise Refused
    except Refused:
        pass
    try:
        with instrument.external("cloudfront", "invalidate"):
            raise TimeoutError
    except TimeoutError:
        pass
    instrument.upload("image/png", 3000)
    instrument.image_error(ValueError("no image"))
    ctx.metrics.count("pages", 3)
    ctx.metrics.count("pages")
    ctx.metrics.observe("width", 640)


def plainly(_params: dict[str, Any], ctx: Context) -> str:
    measure(ctx)
    return send()


async def in_a_loop(_params: dict[str, Any], ctx: Context) -> str:
    measure(ctx)
    return await send_later()


Lane = Literal["process", "spawn", "warm", "thread", "async"]
LANES: tuple[Lane, ...] = ("process", "spawn", "warm", "thread", "async")
for lane in LANES:
    app.job(f"measure.{lane}", lane=lane)(in_a_loop if lane in {"async", "warm"} else plainly)


@app.job("flood")
def flood(params: dict[str, Any], ctx: Context) -> None:
    for _ in range(params["n"]):
        ctx.metrics.count("n")
