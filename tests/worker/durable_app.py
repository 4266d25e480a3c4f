"""A program whose handlers keep their progress, in every lane of Python; its steps keep a ledger outside."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from tenure import Context, Tenure, backoff
from tenure.execution.handler import program_process

Lane = Literal["process", "spawn", "warm", "async", "thread"]
LANES: tuple[Lane, ...] = ("process", "spawn", "warm", "async", "thread")
SOON = backoff(base=0.01, cap=0.05)
Params = dict[str, Any]

app = Tenure()


def enter(ledger: str, what: str) -> str:
    """Add a line to the ledger: the effect of a step."""
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{what}\n".encode())
    finally:
        os.close(descriptor)
    return f"done {what}"


def entries(ledger: Path) -> list[str]:
    """The lines of a ledger."""
    return ledger.read_text().splitlines() if ledger.exists() else []


async def enter_later(ledger: str, what: str) -> str:
    """The same as a coroutine."""
    return enter(ledger, what)


async def steps(params: Params, ctx: Context) -> list[str]:
    """So many steps; it fails after one of them, as often as its params say."""
    done = []
    for n in range(params["steps"]):
        done.append(await ctx.step(f"step {n}", enter_later, params["ledger"], f"step {n}"))
        if n == params["fails_after"] and ctx.attempt <= params.get("failures", 1):
            raise ValueError("half-way")
    return done


def steps_plainly(params: Params, ctx: Context) -> list[str]:
    """The same in plain code."""
    done = []
    for n in range(params["steps"]):
        done.append(ctx.step_sync(f"step {n}", enter, params["ledger"], f"step {n}"))
        if n == params["fails_after"] and ctx.attempt <= params.get("failures", 1):
            raise ValueError("half-way")
    return done


async def sleeps(params: Params, ctx: Context) -> list[str]:
    """A step, a pause, a step; `finally` runs whenever it gives its slot back."""
    try:
        before = await ctx.step("before", enter_later, params["ledger"], "before")
        await ctx.sleep(params["seconds"])
        after = await ctx.step("after", enter_later, params["ledger"], "after")
    finally:
        enter(params["ledger"], "finally")
    return [before, after, str(ctx.attempt)]


def sleeps_plainly(params: Params, ctx: Context) -> list[str]:
    """The same in plain code."""
    try:
        before = ctx.step_sync("before", enter, params["ledger"], "before")
        ctx.sleep_sync(params["seconds"])
        after = ctx.step_sync("after", enter, params["ledger"], "after")
    finally:
        enter(params["ledger"], "finally")
    return [before, after, str(ctx.attempt)]


async def counts(params: Params, ctx: Context) -> int:
    """Counts to ten by its state, and fails at each third."""
    await ctx.recall()
    while ctx.state.get("count", 0) < 10:
        ctx.state["count"] = ctx.state.get("count", 0) + 1
        await ctx.checkpoint()
        enter(params["ledger"], str(ctx.state["count"]))
        if ctx.state["count"] % 3 == 0:
            raise ValueError("one third more")
    return int(ctx.state["count"])


def counts_plainly(params: Params, ctx: Context) -> int:
    """The same in plain code."""
    while ctx.state.get("count", 0) < 10:
        ctx.state["count"] = ctx.state.get("count", 0) + 1
        ctx.checkpoint_sync()
        enter(params["ledger"], str(ctx.state["count"]))
        if ctx.state["count"] % 3 == 0:
            raise ValueError("one third more")
    return int(ctx.state["count"])


HANDLERS: dict[str, Callable[..., Any]] = {
    "steps": steps,
    "steps_plainly": steps_plainly,
    "sleeps": sleeps,
    "sleeps_plainly": sleeps_plainly,
    "counts": counts,
    "counts_plainly": counts_plainly,
}


def named(what: str) -> list[str]:
    """The definitions that do this: async functions and plain ones, in the lanes that take them."""
    awaited = [f"{lane}.{what}" for lane in LANES if lane != "thread"]
    return [*awaited, *(f"{lane}.{what}_plainly" for lane in LANES if lane != "async")]


for lane in LANES:
    for name, handler in HANDLERS.items():
        if f"{lane}.{name}" in named(name.removesuffix("_plainly")):
            app.job(f"{lane}.{name}", lane=lane, max_attempts=6, retry=SOON)(handler)


@app.job("plain")
async def plain(_params: Params, ctx: Context) -> int:
    """Keeps nothing."""
    return ctx.attempt


@app.job("async.steps_together", lane="async")
async def steps_together(params: Params, ctx: Context) -> str:
    """Waits until all of them are there, then takes a step."""
    await ctx.recall()
    enter(params["ledger"], "there")
    while len(entries(Path(params["ledger"]))) < params["count"]:  # noqa: ASYNC110  (a file is no event)
        await asyncio.sleep(0.01)
    return await ctx.step("step", enter_later, params["ledger"] + ".done", "done")


@app.job("async.many_steps", lane="async", timeout=3600)
async def many_steps(params: Params, ctx: Context) -> int:
    """So many steps, one after the other."""
    return sum([await ctx.step(f"step {n}", abs, n) for n in range(params["count"])])


@app.job("async.turns", lane="async", timeout=3600)
async def turns(params: Params, ctx: Context) -> int:
    """So many turns of a step and a sleep, which are forgotten."""
    await ctx.recall()
    while (turn := ctx.state.get("turn", 0)) < params["count"]:
        await ctx.step("look", abs, turn)
        await ctx.sleep(0.001)
        ctx.state["turn"] = turn + 1
        await ctx.forget()
    return int(turn)


@app.job("async.naps", lane="async")
async def naps(_params: Params, ctx: Context) -> None:
    """Sleeps for an hour."""
    await ctx.sleep(3600)


@app.job("effect", retry=SOON)
async def effect(params: Params, ctx: Context) -> str:
    """One step with an effect."""
    done = await ctx.step("effect", enter_later, params["ledger"], "effect")
    enter(params["ledger"], "after")
    return done


COUNT = """
n=$(cat "$TENURE_STATE" 2>/dev/null || echo 0)
n=$((n + 1))
echo "$n" > "$TENURE_STATE"
echo "$n" >> "$(cat | sed 's/.*"ledger":"\\([^"]*\\)".*/\\1/')"
[ "$n" -ge 3 ] && echo "$n" || exit 75
"""
WAIT = """
ledger=$(cat | sed 's/.*"ledger":"\\([^"]*\\)".*/\\1/')
if [ -s "$TENURE_STATE" ]; then cat "$TENURE_STATE"; exit; fi
echo '{"page":7}' > "$TENURE_STATE"
until [ -e "$ledger" ]; do sleep 0.02; done
kill -9 $PPID
"""
program_process.TICK = 0.05  # in the zygote, which imports this

app.command("program.plain", ["true"])
app.command("program.counts", ["sh", "-c", COUNT], keeps_state=True, max_attempts=6, retry=SOON)
app.command("program.waits", ["sh", "-c", WAIT], keeps_state=True, max_attempts=6, retry=SOON)
app.command("program.scribbles", ["sh", "-c", 'echo "no json" > "$TENURE_STATE"'], keeps_state=True)
