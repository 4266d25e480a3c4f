"""An app whose handlers behave: they return, raise, say things and stop when they are asked to."""

import asyncio
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure.core.errors import Fatal, InvalidInput, Retry, StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.execution.handler.context import Context, is_confined
from tenure.execution.handler.handler import Handler

MANIFEST = b"what the definitions say"


def returns(params: Any, ctx: Context) -> Any:
    return params


async def returns_later(params: Any, ctx: Context) -> Any:
    await asyncio.sleep(0)
    return params


def draws(params: Any, ctx: Context) -> float:
    return random.random()


def raises(params: Any, ctx: Context) -> None:
    raise LookupError("nothing there")


async def raises_later(params: Any, ctx: Context) -> None:
    raise Retry("not yet", after=5)


def exhausts(params: Any, ctx: Context) -> Any:
    return next(iter(()))


def exits(params: Any, ctx: Context) -> None:
    sys.exit("enough")


def identifies(params: Any, ctx: Context) -> Any:
    return {
        "job": ctx.job_id,
        "attempt": ctx.attempt,
        "fence": ctx.fence,
        "definition": ctx.definition,
        "version": ctx.version,
        "params": ctx.params,
        "key": ctx.idempotency_key("charge"),
        "pid": os.getpid(),
        "confined": is_confined(),
    }


def speaks(params: Any, ctx: Context) -> None:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    logging.getLogger("shop").warning("by logging")
    os.write(1, b"by descriptor\n")
    print("unfinished", end="")


def logs(params: Any, ctx: Context) -> None:
    ctx.log.debug("one")
    ctx.log.info("two", count=2, path=Path("/x"))
    ctx.log.warning("three", values=[1, None])
    ctx.log.error("four\nlines\x1b[31m")
    ctx.progress(0.5, "half")
    ctx.emit("paid", {"amount": 3})
    ctx.emit("bare")


def emits_too_much(params: Any, ctx: Context) -> None:
    for _ in range(100):
        ctx.emit("blob", "x" * 65_000)


def logs_too_much(params: Any, ctx: Context) -> None:
    for n in range(params):
        ctx.log.info("again", n=n)


def emits_nonsense(params: Any, ctx: Context) -> list[str]:
    refused = []
    for name, payload in (("no name", None), ("x", {1, 2}), ("x", "y" * 70_000)):
        try:
            ctx.emit(name, payload)
        except InvalidInput as error:
            refused.append(error.problem)
    try:
        ctx.progress(2.0)
    except InvalidInput as error:
        refused.append(error.problem)
    return refused


async def spawns(params: Any, ctx: Context) -> list[str]:
    jobs = await asyncio.gather(*(ctx.enqueue(_child(n)) for n in range(3)))
    return [str(job.id) for job in jobs]


async def spawns_and_leaves(params: str, ctx: Context) -> str:
    """Request a child, write down the pid, and do not wait for the reply."""
    asked = asyncio.create_task(ctx.enqueue(_child(0)))
    await asyncio.sleep(0)
    _mark(params)
    return "gone" if not asked.done() else "answered"


def spawns_plainly(params: Any, ctx: Context) -> list[str]:
    jobs = [ctx.enqueue_sync(_child(0)), *ctx.enqueue_many_sync([_child(1), _child(2)])]
    return [str(job.id) for job in jobs]


def spawns_in_vain(params: Any, ctx: Context) -> str:
    try:
        ctx.enqueue_sync(_child(0))
    except StoreUnavailable as error:
        return f"unavailable: {error}"
    return "enqueued"


async def stops_when_cancelled(params: Any, ctx: Context) -> None:
    _mark(params)
    try:
        await asyncio.Event().wait()
    finally:
        ctx.log.info("cleaned up")


async def waits_for_cancel(params: Any, ctx: Context) -> str:
    async with asyncio.TaskGroup() as group:
        told = group.create_task(ctx.cancelled.wait())
        _mark(params)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await told
    return "told"


def stops_plainly(params: Any, ctx: Context) -> str:
    _mark(params)
    while not ctx.cancelled.is_set():
        time.sleep(0.01)
    return "stopped by itself"


def stops_at_a_glance(params: Any, ctx: Context) -> str:
    was_told = bool(ctx.cancelled)
    _mark(params)
    while not ctx.cancelled:
        time.sleep(0.01)
    return "stopped before it was asked" if was_told else "stopped by itself"


def blocks_until_cancelled(params: Any, ctx: Context) -> str:
    _mark(params)
    ctx.cancelled.block()
    ctx.check_cancelled()
    return "not reached"


def gives_up_when_cancelled(params: Any, ctx: Context) -> None:
    _mark(params)
    ctx.cancelled.block()
    raise Fatal("half done")


def runs_a_program(params: str, ctx: Context) -> int:
    """Wait for a program that knows nothing of being cancelled."""
    return subprocess.run(["sh", "-c", 'touch "$0"; sleep 3600', params], check=False).returncode


def says_something_and_hangs(params: Any, ctx: Context) -> None:
    ctx.progress(0.1)
    while True:
        time.sleep(60)


def litters(params: Any, ctx: Context) -> tuple[str, str]:
    folder = Path(tempfile.mkdtemp())
    (folder / "left").write_text("behind")
    assert folder.parent == Path(os.environ["TMPDIR"])
    return str(folder.parent.parent), folder.parent.name


def spoils_its_folder(params: Any, ctx: Context) -> str:
    folder = Path(os.environ["TMPDIR"])
    match params:
        case "open":
            folder.chmod(0o777)
        case "gone":
            folder.rmdir()
        case "file":
            folder.rmdir()
            folder.write_text("not a folder")
    return folder.name


def sees_its_folder(params: Any, ctx: Context) -> tuple[str, int, int]:
    folder = Path(os.environ["TMPDIR"])
    return folder.name, folder.stat().st_mode & 0o777, len(list(folder.iterdir()))


def uses_time(params: Any, ctx: Context) -> None:
    end = time.process_time() + params
    while time.process_time() < end:
        pass


def greets(ctx: Context) -> None:
    ctx.log.info("greeted")


def fails_to_greet(ctx: Context) -> None:
    raise RuntimeError("no greeting")


async def is_told(ctx: Context, error: Failure | None) -> None:
    ctx.log.info("told", error=None if error is None else error.message)


def _child(n: int) -> NewJob:
    return NewJob(definition="child", params=write({"n": n}))


def _mark(path: str) -> None:
    """Let the test know that this process is here, in one step."""
    fresh = Path(f"{path}.fresh")
    fresh.write_text(str(os.getpid()))
    fresh.rename(path)


_HOOKS: dict[str, dict[str, Callable[..., Any]]] = {
    "returns": {"on_start": greets, "on_fail": is_told, "on_end": fails_to_greet},
    "returns_later": {"on_start": fails_to_greet},
}


def _decoded(text: str) -> Any:
    params = json.loads(text)
    if params == "unreadable":
        raise ValueError("cannot be read")
    return params


class App:
    """The handlers of this module by name."""

    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], _decoded, _HOOKS.get(key, {}))

    def manifest(self) -> bytes:
        return MANIFEST


app = App()
