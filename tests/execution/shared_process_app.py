"""An app whose handlers share processes: they look around, leave things behind, and wait for each other."""

import asyncio
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tenure.core.errors import TenureError
from tenure.core.model.job import NewJob
from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler

HOARD: list[bytes] = []
FOREVER = 3600


def spoils(params: Any, ctx: Context) -> int:
    """Change all that a process can have changed, and leave a file."""
    os.environ["SPOILT"] = "1"
    os.environ.pop("HOME", None)
    os.chdir("/")
    os.umask(0)
    Path(os.environ["TMPDIR"], "left").mkdir()
    Path(os.environ["TMPDIR"], "left", "behind").write_text("x")
    sys.stdout = sys.stderr
    return os.getpid()


def looks_around(params: Any, ctx: Context) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "spoilt": os.environ.get("SPOILT"),
        "home": os.environ.get("HOME"),
        "wanted": os.environ.get("WANTED"),
        "folder": str(Path.cwd()),
        "umask": os.umask(0o077),
        "left": len(list(Path(os.environ["TMPDIR"]).iterdir())),
        "is_stdout": sys.stdout is not sys.stderr,
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "cpu": resource.getrlimit(resource.RLIMIT_CPU)[0],
        "threads": threading.active_count(),
    }


async def looks_around_later(params: Any, ctx: Context) -> dict[str, Any]:
    await asyncio.sleep(0)
    return looks_around(params, ctx)


def hoards(params: int, ctx: Context) -> int:
    HOARD.append(b"x" * params)
    return os.getpid()


async def hoards_later(params: int, ctx: Context) -> int:
    return hoards(params, ctx)


def allocates(params: int, ctx: Context) -> int:
    return len(b"x" * params)


def spins(params: float, ctx: Context) -> int:
    end = time.thread_time() + params
    while time.thread_time() < end:
        pass
    return os.getpid()


def leaves_a_thread(params: Any, ctx: Context) -> int:
    threading.Thread(target=time.sleep, args=(FOREVER,), daemon=True).start()
    return os.getpid()


async def leaves_a_task(params: str, ctx: Context) -> int:
    async def stays() -> None:
        try:
            await asyncio.sleep(FOREVER)
        finally:
            _write(params, "cancelled")

    ctx.kept = asyncio.create_task(stays())  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    return os.getpid()


async def uses_a_thread(params: str, ctx: Context) -> int:
    """Leave something in the loop's own threads that takes a while."""

    def works() -> None:
        time.sleep(0.1)
        _write(params, "done")

    ctx.kept = asyncio.get_running_loop().run_in_executor(None, works)  # type: ignore[attr-defined]
    return os.getpid()


def prints_and_waits(params: str, ctx: Context) -> None:
    print("early", flush=True)
    _wait_for(params)


def waits_for(params: str, ctx: Context) -> int:
    """Say that it is here, and wait for a file."""
    ctx.progress(0.5)
    _wait_for(params)
    return os.getpid()


async def waits_for_later(params: str, ctx: Context) -> int:
    ctx.progress(0.5)
    await asyncio.to_thread(_wait_for, params)
    return os.getpid()


def speaks_of(params: Any, ctx: Context) -> Any:
    """Say one's own name in every way, in turns with others."""
    for n in range(20):
        print(f"{params} prints {n}")
        print(f"{params} errs {n}", file=sys.stderr)
        ctx.log.info("logs", by=params, n=n)
        ctx.emit("said", {"by": params})
        time.sleep(0)
    ctx.progress(0.5, str(params))
    return params


async def speaks_of_later(params: Any, ctx: Context) -> Any:
    for n in range(20):
        print(f"{params} prints {n}", end="")
        await asyncio.sleep(0)
        print()
        print(f"{params} errs {n}", file=sys.stderr)
        ctx.log.info("logs", by=params, n=n)
        ctx.emit("said", {"by": params})
        await asyncio.to_thread(print, f"{params} prints from a thread")
    ctx.progress(0.5, str(params))
    return params


def prints_oddly(params: Any, ctx: Context) -> None:
    """Print more at once than a message may hold, and what is no text, with no newline at the end."""
    print("x" * 5_000_000)
    print("a name \udcff", end="")


async def prints_oddly_later(params: Any, ctx: Context) -> None:
    prints_oddly(params, ctx)


def closes_everything(params: str, ctx: Context) -> None:
    """Close descriptors that are not its own, as some programs do before they become daemons."""
    ctx.progress(0.5)
    _wait_for(params)
    os.closerange(3, 64)


async def closes_everything_later(params: str, ctx: Context) -> None:
    ctx.progress(0.5)
    await asyncio.to_thread(_wait_for, params)
    os.closerange(3, 64)


class Unspeakable(Exception):
    """Cannot even be described."""

    def __str__(self) -> str:
        raise SystemExit("no words")


def raises_the_unspeakable(params: Any, ctx: Context) -> None:
    raise Unspeakable


async def raises_the_unspeakable_later(params: Any, ctx: Context) -> None:
    raise Unspeakable


def exits_when(params: str, ctx: Context) -> None:
    ctx.progress(0.5)
    _wait_for(params)
    os._exit(7)


async def exits_when_later(params: str, ctx: Context) -> None:
    await waits_for_later(params, ctx)
    os._exit(7)


def blocks(params: Any, ctx: Context) -> None:
    ctx.progress(0.5)
    time.sleep(FOREVER)


async def blocks_later(params: Any, ctx: Context) -> None:
    """Block the loop, as no coroutine should."""
    ctx.progress(0.5)
    await asyncio.sleep(0)  # until it was sent
    time.sleep(FOREVER)  # noqa: ASYNC251


async def task_exits(params: Any, ctx: Context) -> str:
    """Let a task of its own call for the end of the process."""

    async def exits() -> None:
        sys.exit("enough")

    ended, _ = await asyncio.wait({asyncio.create_task(exits())})
    return "still here" if ended else "it has not ended"


def stops_when_asked(params: Any, ctx: Context) -> None:
    ctx.progress(0.5)
    ctx.cancelled.block()


async def stops_when_asked_later(params: Any, ctx: Context) -> None:
    ctx.progress(0.5)
    await asyncio.Event().wait()


async def asks_too_much(params: Any, ctx: Context) -> str:
    try:
        await asyncio.gather(*(ctx.enqueue(NewJob(definition="child")) for _ in range(3)))
    except TenureError as error:
        ctx.log.info(str(error))
        return "refused"
    return "enqueued"


def tells_its_parent(params: Any, ctx: Context) -> int:
    return os.getppid()


def _write(path: str, text: str) -> None:
    Path(path).write_text(text)


def _wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.005)


class App:
    """The handlers of this module by name."""

    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], json.loads)

    def manifest(self) -> bytes:
        return b""


app = App()
