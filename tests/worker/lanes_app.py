"""A program with the same jobs in every lane but `process`; they keep a ledger outside the database."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Any, Literal

from tenure import Context, Tenure, backoff
from tests.worker.ledger_app import enter, is_let_go

Lane = Literal["warm", "async", "thread", "spawn"]
LANES: tuple[Lane, ...] = ("warm", "async", "thread", "spawn")

app = Tenure()
SOON = backoff(base=0.01, cap=0.05)


async def wait(params: dict[str, Any], ctx: Context) -> int:
    """Runs until a file is there, or until it is stopped."""
    enter(params, ctx, "start")
    while not is_let_go(params):  # noqa: ASYNC110  (a file is no event)
        await asyncio.sleep(0.01)
    enter(params, ctx, "effect")
    return ctx.fence


def wait_plainly(params: dict[str, Any], ctx: Context) -> int:
    """The same in plain code."""
    enter(params, ctx, "start")
    while not is_let_go(params):
        ctx.check_cancelled()
        time.sleep(0.01)
    enter(params, ctx, "effect")
    return ctx.fence


def block(params: dict[str, Any], ctx: Context) -> int:
    """Blocks its thread, and ignores every stop."""
    enter(params, ctx, "blocked")
    while not is_let_go(params):
        pass
    return ctx.fence


async def block_the_loop(params: dict[str, Any], ctx: Context) -> int:
    """What an async function must not do."""
    return block(params, ctx)


async def busy(params: dict[str, Any], ctx: Context) -> int:
    """Blocks its loop for so many seconds, and ignores every stop."""
    enter(params, ctx, "blocked")
    ends_at = time.monotonic() + params["seconds"]
    while time.monotonic() < ends_at:
        pass
    return ctx.fence


async def nap(params: dict[str, Any]) -> None:
    """Takes so many seconds."""
    await asyncio.sleep(params["seconds"])


def die(params: dict[str, Any], ctx: Context) -> int:
    """Is killed the first time, once a file lets it go on."""
    enter(params, ctx, "start")
    while not is_let_go(params):
        time.sleep(0.01)
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return ctx.fence


async def die_in_a_loop(params: dict[str, Any], ctx: Context) -> int:
    """The same."""
    return die(params, ctx)


def tell(params: dict[str, Any], ctx: Context) -> str:
    """Writes its name in every way there is."""
    name = params["name"]
    print(f"printed by {name}")
    logged = f"logged by {name}"
    ctx.log.info(logged)
    ctx.emit("said", {"by": name})
    return str(name)


async def tell_from_a_loop(params: dict[str, Any], ctx: Context) -> str:
    """The same, among others."""
    await asyncio.sleep(0)
    return tell(params, ctx)


def _of(lane: Lane, plain: Callable[..., Any], in_a_loop: Callable[..., Any]) -> Callable[..., Any]:
    return plain if lane == "thread" else in_a_loop


for lane in LANES:
    app.job(f"{lane}.wait", lane=lane, retry=SOON, grace=5)(_of(lane, wait_plainly, wait))
    app.job(f"{lane}.block", lane=lane, retry=SOON, grace=0.2)(_of(lane, block, block_the_loop))
    app.job(f"{lane}.die", lane=lane, retry=SOON)(_of(lane, die, die_in_a_loop))
    app.job(f"{lane}.tell", lane=lane)(_of(lane, tell, tell_from_a_loop))
app.job("process.tell")(tell)
app.job("async.busy", lane="async")(busy)
app.job("async.nap", lane="async")(nap)
