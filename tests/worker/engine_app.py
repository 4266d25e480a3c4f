"""An app for the engine's tests: each definition does what its name says, by word of its params."""

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from tenure.core.errors import Snooze
from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.values.documents import write
from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler


async def echo(params: Any, _ctx: Context) -> Any:
    return params


async def fail_first(params: Any, ctx: Context) -> int:
    if ctx.attempt <= params.get("failures", 1):
        raise ValueError(f"attempt {ctx.attempt} fails")
    return ctx.attempt


def return_what_cannot_be_kept(params: Any, _ctx: Context) -> Any:
    begin(params)
    return {"a", "b"} if params["what"] == "set" else "x" * 300_000


async def fan_out(params: Any, ctx: Context) -> list[dict[str, Any]]:
    """Enqueue the jobs in its params, in one of four ways, and fail or snooze as often as these say."""
    while ctx.attempt > 1 and "end" in params and not is_told_to_end(params):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    wanted = params["jobs"] + params.get("more_each_time", []) * ctx.attempt
    policy = Policy(max_attempts=1)
    jobs = [NewJob(definition=params.get("of", "echo"), params=write(one), policy=policy) for one in wanted]
    options = {"unkeyed": True} if params.get("unkeyed") else {}
    match params["how"]:
        case "one by one":
            made = [await ctx.enqueue(job, **options) for job in jobs]
        case "together":
            made = await asyncio.gather(*(ctx.enqueue(job, **options) for job in jobs))
        case "plainly":
            made = ctx.enqueue_many_sync(jobs[1:], **options)
            made += [ctx.enqueue_sync(jobs[0], **options)]
        case _:
            made = await ctx.enqueue_many(jobs, **options)
    if ctx.attempt <= params["failures"]:
        raise ValueError("not yet")
    if params.get("snoozes") and any(one.fresh for one in made):
        raise Snooze(for_=0.005)
    return [{"id": str(one.id), "fresh": one.fresh, "state": one.state} for one in made]


def snooze_once(params: Any, _ctx: Context) -> str:
    if not Path(params["snoozed"]).exists():
        Path(params["snoozed"]).touch()
        raise Snooze(for_=0.005)
    return "awake"


def die(_params: Any, _ctx: Context) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_zygote(_params: Any, _ctx: Context) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


async def wait(params: Any, ctx: Context) -> str:
    """Runs until a file lets it end; another file shows that it has begun."""
    if "say" in params:
        print(params["say"], flush=True)
    begin(params)
    if "progress" in params:
        ctx.progress(params["progress"])
    while not is_told_to_end(params):  # noqa: ASYNC110  (a file is no event)
        await asyncio.sleep(0.01)
    return "ended"


async def fail_when_told(params: Any, ctx: Context) -> None:
    """Waits for a file, and then fails, the first time."""
    if ctx.attempt == 1:
        await wait(params, ctx)
        raise ValueError("it was told to fail")


def begin(params: Any) -> None:
    Path(params["begun"]).write_text(str(os.getpid()))


def is_told_to_end(params: Any) -> bool:
    return Path(params["end"]).exists()


def ignore_signals(params: Any, _ctx: Context) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    begin(params)
    while True:
        time.sleep(1)


async def speak(_params: Any, ctx: Context) -> None:
    print("a line of output")
    ctx.log.info("a line of the log", number=7)
    ctx.emit("said", {"words": 2})
    ctx.progress(0.5, "half")


async def speak_when_told(params: Any, ctx: Context) -> None:
    await wait(params, ctx)
    ctx.log.info("heard")
    ctx.emit("said")


async def progress(params: Any, ctx: Context) -> None:
    """Says how far it has come, up to the very end."""
    for step in range(params["steps"]):
        ctx.progress(step / params["steps"])
    ctx.progress(1.0, "all of it")


async def chatter(params: Any, ctx: Context) -> None:
    """Says more in one go than a store takes in one."""
    for n in range(params["lines"]):
        print(n)
        ctx.log.info(str(n))


def roam(_params: Any, _ctx: Context) -> dict[str, Any]:
    """Does what programs do, and nothing of what it does is the same the next time."""
    heard: list[str] = []
    thread = threading.Thread(target=heard.append, args=("by a thread",))
    thread.start()
    thread.join()
    file = Path(tempfile.mkdtemp()) / "file"
    file.write_text("by a file")
    heard.append(file.read_text())
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"by a socket")
        heard.append(other.recv(100).decode())
    heard.append(subprocess.check_output(["echo", "by a program"], text=True).strip())
    return {"heard": heard, "chance": random.random(), "clock": time.time_ns()}


def hook(path: str) -> Any:
    """A hook that writes down its name and what it was given."""

    def record(ctx: Context, error: Any = None) -> None:
        with Path(ctx.params["hooks"]).open("a") as file:
            file.write(json.dumps([path, ctx.attempt, error and error.kind]) + "\n")

    return record


def broken_hook(_ctx: Context) -> None:
    raise RuntimeError("the hook is broken")


def talking_hook(ctx: Context, error: Any) -> None:
    """Says what it can, by every way there is."""
    print(f"printed by a hook, {error and error.kind}", flush=True)
    ctx.log.info("logged by a hook", attempt=ctx.attempt)
    ctx.emit("told", {"attempt": ctx.attempt})


def endless_hook(ctx: Context) -> None:
    with Path(ctx.params["hooks"]).open("a") as file:
        file.write('"begun"\n')
    while True:
        time.sleep(1)


HOOKS = {name: hook(name) for name in ("on_start", "on_retry", "on_success", "on_fail", "on_end")}
HANDLERS = {
    "echo": Handler(echo, json.loads),
    "fail_first": Handler(fail_first, json.loads),
    "return_what_cannot_be_kept": Handler(return_what_cannot_be_kept, json.loads),
    "fan_out": Handler(fan_out, json.loads),
    "snooze_once": Handler(snooze_once, json.loads),
    "die": Handler(die, json.loads),
    "kill_zygote": Handler(kill_zygote, json.loads),
    "wait": Handler(wait, json.loads),
    "speak_when_told": Handler(speak_when_told, json.loads),
    "fail_when_told": Handler(fail_when_told, json.loads),
    "ignore_signals": Handler(ignore_signals, json.loads),
    "roam": Handler(roam, json.loads),
    "speak": Handler(speak, json.loads),
    "chatter": Handler(chatter, json.loads),
    "progress": Handler(progress, json.loads),
    "hooked": Handler(fail_first, json.loads, HOOKS),
    "talking": Handler(
        fail_first, json.loads, dict.fromkeys(("on_success", "on_fail", "on_end"), talking_hook)
    ),
    "endlessly_hooked": Handler(echo, json.loads, {"on_success": endless_hook}),
    "badly_hooked": Handler(echo, json.loads, {"on_success": broken_hook}),
    "half_hooked": Handler(echo, json.loads, {"on_success": broken_hook, "on_end": HOOKS["on_end"]}),
    "broken_at_the_end": Handler(echo, json.loads, {"on_end": broken_hook}),
    "hooked_wait": Handler(wait, json.loads, HOOKS),
}


class App:
    """What the zygote asks for."""

    def handler(self, key: str, version: int) -> Handler:
        assert version == 1
        return HANDLERS[key]

    def manifest(self) -> bytes:
        return msgspec.msgpack.encode(sorted(HANDLERS))


app = App()
