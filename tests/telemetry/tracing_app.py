"""An app whose handlers make spans, in every lane; it sets nothing up."""

import asyncio
import os
import sys
from enum import Enum
from typing import Any, Literal

from opentelemetry import trace

from tenure import Context, Tenure

app = Tenure()
tracer = trace.get_tracer("sample")


@app.job("follow")
def follow(_params: dict[str, Any]) -> None:
    """What a traced handler enqueues."""


def plainly(_params: dict[str, Any], ctx: Context) -> dict[str, Any]:
    with tracer.start_as_current_span("fetch", attributes={"size": 3, "tags": ["a", "b"]}) as span:
        span.add_event("cached", {"hit": True})
        with tracer.start_as_current_span("parse"):
            ctx.enqueue_sync(follow, {})
    try:
        with tracer.start_as_current_span("fail"):
            raise ValueError("on purpose")
    except ValueError:
        pass
    return {"traceparent": ctx.traceparent, "pid": os.getpid()}


async def in_a_loop(params: dict[str, Any], ctx: Context) -> dict[str, Any]:
    with tracer.start_as_current_span("fetch", attributes={"size": 3, "tags": ["a", "b"]}) as span:
        span.add_event("cached", {"hit": True})
        await asyncio.create_task(parse(ctx))
    try:
        with tracer.start_as_current_span("fail"):
            raise ValueError("on purpose")
    except ValueError:
        pass
    return {"traceparent": ctx.traceparent, "pid": os.getpid()}


async def parse(ctx: Context) -> None:
    with tracer.start_as_current_span("parse"):
        await ctx.enqueue(follow, {})


Lane = Literal["process", "spawn", "warm", "thread", "async"]
LANES: tuple[Lane, ...] = ("process", "spawn", "warm", "thread", "async")
for lane in LANES:
    app.job(f"trace.{lane}", lane=lane)(in_a_loop if lane in {"async", "warm"} else plainly)

SAY = 'import json, os; print(json.dumps({"traceparent": os.environ.get("TRACEPARENT")}))'
app.command("trace.command", [sys.executable, "-c", SAY])


@app.job("flood")
def flood(params: dict[str, Any]) -> None:
    for n in range(params["n"]):
        with tracer.start_as_current_span(f"drop {n}"):
            pass


class Word(str, Enum):  # noqa: UP042  (which its own text is not)
    """As templates and enums have them."""

    X = "x"


class Share(float):
    """As numpy has them."""


class Count(int):
    """As libraries have them for units."""


@app.job("odd")
def odd(_params: dict[str, Any]) -> None:
    """Spans that cannot be sent as they are, and one made by a process that the handler forks."""
    with tracer.start_as_current_span("huge", attributes={"text": "x" * 100_000}):
        pass
    with tracer.start_as_current_span("odd", attributes={"n": [2**70, 1], "m": 2**64, "bytes": b"x"}):
        pass
    derived: dict[str, Any] = {"text": Word.X, "share": Share(0.5), "count": Count(2), Word.X: [Word.X]}
    with tracer.start_as_current_span(Word.X, attributes=derived) as span:
        span.set_attribute("file", "\udcff.txt")
    with tracer.start_as_current_span("timeless", start_time=-1):
        pass
    if (pid := os.fork()) == 0:
        with tracer.start_as_current_span("elsewhere"):
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    with tracer.start_as_current_span("good"):
        pass
