"""A program as a user would write it; its jobs keep a ledger outside the database."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from tenure import Context, Tenure, backoff

app = Tenure()


@app.job("wait", retry=backoff(base=0.01, cap=0.05), grace=1)
async def wait(params: dict[str, Any], ctx: Context) -> int:
    """Runs until a file is there; one line in the ledger when it begins, one when it is through."""
    enter(params, ctx, "start")
    while not is_let_go(params):  # noqa: ASYNC110  (a file is no event)
        await asyncio.sleep(0.01)
    enter(params, ctx, "effect")
    return ctx.fence


@app.job("once", on_lost="bury")
async def once(params: dict[str, Any], ctx: Context) -> int:
    """The same, and never twice."""
    return await wait.function(params, ctx)


@app.job("tick")
def tick(params: dict[str, Any], ctx: Context) -> int:
    """The same as `wait`, and says all the while in a file of its own that it is there."""
    enter(params, ctx, params["name"])
    with Path(f"{params['ledger']}-{os.getpid()}").open("a", buffering=1) as file:
        while not is_let_go(params):
            print(time.monotonic(), file=file)
            time.sleep(0.01)
    return ctx.fence


@app.job("short")
async def short(params: dict[str, Any], ctx: Context) -> int:
    """One line in the ledger."""
    enter(params, ctx, params["name"])
    return ctx.fence


@app.job("regicide", retry=backoff(base=0.01, cap=0.05))
async def regicide(params: dict[str, Any], ctx: Context) -> int:
    """Does its work, then kills the worker in its params before it is settled; the first time only."""
    enter(params, ctx, "effect")
    if ctx.attempt == 1:
        os.kill(params["worker"], signal.SIGKILL)
        await asyncio.Event().wait()
    return ctx.fence


@app.job("charge", retry=backoff(base=0.01, cap=0.05))
async def charge(params: dict[str, Any], ctx: Context) -> str:
    """Asks a bank that knows keys for money; then kills the worker named in its params, if any."""
    key = ctx.idempotency_key("charge")
    with (Path(params["bank"]) / key).open("a") as requests:
        requests.write(f"{ctx.attempt}\n")
    if ctx.attempt == 1 and "worker" in params:
        os.kill(params["worker"], signal.SIGKILL)
        await asyncio.Event().wait()
    return key


@app.job("parent")
async def parent(params: dict[str, Any], ctx: Context) -> str:
    """Enqueues another job."""
    child = await ctx.enqueue(wait, params, idempotency_key=params.get("key"))
    return str(child.id)


@app.job("stray")
async def stray(params: dict[str, Any]) -> None:
    """What a handler must not do: open a store of its own."""
    await wait.enqueue(params)


def enter(params: dict[str, Any], ctx: Context, what: str) -> None:
    line = f"{what} {ctx.fence} {os.getpid()} {time.monotonic()}\n"
    with Path(params["ledger"]).open("a") as ledger:
        ledger.write(line)


def is_let_go(params: dict[str, Any]) -> bool:
    return Path(params["end"]).exists()
