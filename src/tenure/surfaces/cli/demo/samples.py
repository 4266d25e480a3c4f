"""The jobs that `tenure demo` runs, written as you would write yours."""

import asyncio
import os
import signal
import time
from dataclasses import dataclass

from tenure import Context, Tenure, backoff

app = Tenure()
SOON = backoff(base=0.2, cap=1)


@dataclass
class Person:
    name: str


@dataclass
class Film:
    frames: int


@app.job("demo.greet")
async def greet(params: Person) -> str:
    """Succeed."""
    return f"Hello, {params.name}!"


@app.job("demo.fetch", retry=SOON)
async def fetch(ctx: Context) -> str:
    """Fail once, as if a server were away for a moment."""
    if ctx.attempt == 1:
        raise ConnectionError("the server hung up")
    return "200 OK"


@app.job("demo.resize", retry=SOON)
def resize(ctx: Context) -> str:
    """Take the whole process down once, as a bug in a C library would."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return "640 x 480"


@app.job("demo.encode")
async def encode(params: Film, ctx: Context) -> str:
    """Take a while, and report progress."""
    ctx.log.info("encoding", frames=params.frames)
    for frame in range(1, params.frames + 1):
        await asyncio.sleep(0.2)
        ctx.progress(frame / params.frames, f"frame {frame} of {params.frames}")
    return f"{params.frames} frames"


@app.job("demo.backup", grace=1)
def backup(ctx: Context) -> None:
    """Refuse to stop: ignore SIGTERM, and never look at `ctx.cancelled`."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for block in range(100):
        ctx.progress(block / 100, "SIGTERM is ignored")
        time.sleep(0.2)


@app.job("demo.charge", max_attempts=3, retry=SOON)
def charge() -> None:
    """Fail every time: after three attempts it is a dead letter."""
    raise PermissionError("the card was declined")
