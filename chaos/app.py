"""The jobs of a run: harmless ones, failing ones, and those that attack whoever runs them.

Each writes into the ledger that it has started, what it has done, and that it has ended. The ledger's path is
in the environment, as are failpoints: this module is imported by the zygote, which arms its own.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaos import deeds, failpoints, ledger, seen
from chaos.lanes import COMMAND, variants
from tenure import Context, Snooze, Tenure, backoff

LEDGER = "CHAOS_LEDGER"
COOKIE = "CHAOS_COOKIE"
"""A word that every process of a run carries in its environment, so that none can hide."""

PRIVATE = "CHAOS_TOKEN"
"""A variable of workers and servers that no job is given."""

SIGNAL = "arrived"
"""What a journey is told by those who asked for it."""

PROGRAM = str(Path(__file__).with_name("program.py"))
QUICK = backoff(base=0.02, cap=0.2)
CHILD_SOCKET = 3

app = Tenure()
failpoints.arm("zygote")


def job(key: str, **terms: Any) -> Callable[[Callable[..., Any]], Any]:
    """`app.job`, once for every lane that the definition is to run in; answers with the first."""

    def decorate(function: Callable[..., Any]) -> Any:
        others = variants(key)
        del others[key]
        for name, lane in others.items():
            if lane == COMMAND:
                app.command(name, [sys.executable, PROGRAM, key], **terms)
            else:
                app.job(name, **{**terms, "lane": lane})(function)
        return app.job(key, **terms)(function)

    return decorate


def enter(kind: ledger.Kind, ctx: Context) -> None:
    """Write a line into the ledger."""
    ledger.write(os.environ[LEDGER], kind, ctx.job_id, ctx.attempt, ctx.fence)


def work(ctx: Context, seconds: float = 0.0) -> int:
    """Start, take some time, have an effect, end."""
    enter("start", ctx)
    time.sleep(seconds)
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@job("noop", retry=QUICK, max_attempts=5)
def noop(ctx: Context) -> int:
    """Nothing but the ledger."""
    return work(ctx)


@job("sleep", retry=QUICK, max_attempts=8, grace=0.5)
async def sleep(params: dict[str, Any], ctx: Context) -> int:
    """Takes a while, and stops when it is asked to."""
    enter("start", ctx)
    await asyncio.sleep(params["seconds"])
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@job("limited", retry=QUICK, max_attempts=8, concurrency=2)
def limited(params: dict[str, Any], ctx: Context) -> int:
    """At most two of them run at once."""
    return work(ctx, params["seconds"])


@job("once", on_lost="bury")
def once(params: dict[str, Any], ctx: Context) -> int:
    """Must not run twice."""
    return work(ctx, params["seconds"])


@job("fail_once", retry=QUICK, max_attempts=5)
def fail_once(ctx: Context) -> int:
    """Fails at first."""
    if ctx.attempt == 1:
        enter("start", ctx)
        raise ValueError("the first attempt fails")
    return work(ctx)


@job("fail_always", retry=QUICK, max_attempts=3)
def fail_always(ctx: Context) -> None:
    """Fails as often as it is tried."""
    enter("start", ctx)
    raise ValueError("every attempt fails")


@job("snooze", retry=QUICK, max_attempts=5)
def snooze(ctx: Context) -> int:
    """Comes back once, without spending an attempt; the fence tells the two apart."""
    mark = Path(os.environ[LEDGER]).with_name(f"snoozed-{ctx.job_id}")
    if not mark.exists():
        enter("start", ctx)
        mark.touch()
        raise Snooze(for_=0.1)
    return work(ctx)


@job("speak", retry=QUICK, max_attempts=5)
def speak(ctx: Context) -> int:
    """Says much of its own accord."""
    print("a line of output")
    ctx.log.info("a line of the log", number=7)
    ctx.emit("said", {"words": 2})
    ctx.progress(0.5, "half")
    return work(ctx, 0.05)


@job("parent", retry=QUICK, max_attempts=5)
def parent(ctx: Context) -> int:
    """Enqueues children of its own, the same ones in every attempt."""
    enter("start", ctx)
    ctx.enqueue_many_sync(
        [noop.new_job(idempotency_key=ctx.idempotency_key(f"child-{number}")) for number in range(2)]
    )
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@job("journey", retry=QUICK, max_attempts=8)
async def journey(ctx: Context) -> int:
    """Keeps steps and a checkpoint, sleeps, and waits to be told something."""
    enter("start", ctx)
    for turn in range(3):
        await ctx.step(f"look {turn}", deed, f"look {turn}", ctx)
    ctx.state["looked"] = True
    await ctx.checkpoint()
    await ctx.sleep(0.1)
    with suppress(TimeoutError):
        await ctx.wait_for(SIGNAL, timeout=2)
    await ctx.step("arrive", deed, "arrive", ctx)
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@job("pay", retry=QUICK, max_attempts=8)
async def pay(ctx: Context) -> int:
    """Has two effects that are announced before they begin."""
    enter("start", ctx)
    for turn in range(2):
        await ctx.once(f"pay {turn}", deed, f"pay {turn}", ctx, in_doubt="retry")
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


def deed(step: str, ctx: Context) -> str:
    """Do what a step does: write down that it ran."""
    return deeds.write(os.environ[LEDGER], ctx.job_id, step, ctx.fence)


@job("look", retry=QUICK, max_attempts=5)
def look(ctx: Context) -> int:
    """Writes down the variables around it."""
    seen.write(os.environ[LEDGER], ctx.job_id, ctx.fence)
    return work(ctx)


@job("stubborn", retry=QUICK, max_attempts=2, grace=0.3)
def stubborn(params: dict[str, Any], ctx: Context) -> None:
    """Does not stop when it is asked to."""
    with suppress(ValueError):  # a thread is not asked by a signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    enter("start", ctx)
    time.sleep(params["seconds"])


@job("die", retry=QUICK, max_attempts=3)
def die(ctx: Context) -> None:
    """Dies of a signal."""
    enter("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@job("freeze", retry=QUICK, max_attempts=2, timeout=1, grace=0.2)
def freeze(ctx: Context) -> None:
    """Stops itself, as a debugger would."""
    enter("start", ctx)
    os.kill(os.getpid(), signal.SIGSTOP)


@job("flood", retry=QUICK, max_attempts=3)
def flood(ctx: Context) -> int:
    """Writes megabytes that no line ends in, and some that are no text."""
    for _ in range(64):
        os.write(1, b"\x1b[31m\x00\xff" * 8192)
    return work(ctx)


@job("daemonise", retry=QUICK, max_attempts=3)
def daemonise(ctx: Context) -> int:
    """Leaves a process behind, in a session of its own and with nobody above it."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            time.sleep(120)
        os._exit(0)
    os.wait()
    return work(ctx)


@job("bomb", retry=QUICK, max_attempts=2)
def bomb(ctx: Context) -> int:
    """Forks, and its children fork; not without bounds."""
    enter("start", ctx)
    for generation in range(4):
        if os.fork() == 0:
            for _ in range(generation):
                os.fork()
            time.sleep(120)
            os._exit(0)
    enter("effect", ctx)
    enter("end", ctx)
    return ctx.fence


@job("hungry", retry=QUICK, max_attempts=2, memory="96M")
def hungry(ctx: Context) -> int:
    """Takes more memory than it may."""
    enter("start", ctx)
    return len(bytearray(1 << 30))


@job("mute", retry=QUICK, max_attempts=2)
def mute(ctx: Context) -> None:
    """Ends well, and says nothing of it."""
    enter("start", ctx)
    os._exit(0)


@job("garble", retry=QUICK, max_attempts=2)
def garble(ctx: Context) -> None:
    """Speaks to its worker in no language."""
    enter("start", ctx)
    os.write(CHILD_SOCKET, b"\xff" * 64)
    time.sleep(120)


@job("hang_up", retry=QUICK, max_attempts=2)
def hang_up(ctx: Context) -> None:
    """Closes its socket and lives on."""
    enter("start", ctx)
    os.close(CHILD_SOCKET)
    time.sleep(120)


@job("kill_zygote", retry=QUICK, max_attempts=2)
def kill_zygote(ctx: Context) -> None:
    """Kills the process that it was forked from."""
    enter("start", ctx)
    _kill_above(1)


@job("kill_guard", retry=QUICK, max_attempts=2)
def kill_guard(ctx: Context) -> None:
    """Kills the process above that."""
    enter("start", ctx)
    _kill_above(2)


@job("kill_worker", retry=QUICK, max_attempts=2)
def kill_worker(ctx: Context) -> None:
    """Kills its worker, every time."""
    enter("start", ctx)
    _kill_above(3)


def _kill_above(generations: int) -> None:
    pid = os.getpid()
    for _ in range(generations):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    # Who lost its parent has another one, which is not who was meant, and may be nobody of the run.
    meant = b"chaos.worker" if generations == 3 else b"tenure.execution.zygote"
    above = Path(f"/proc/{pid}")
    words = (above / "cmdline").read_bytes()
    if (
        generations == 3
    ):  # a worker hides its variables from its jobs, but is told of a file in the run's folder
        is_ours = os.fsencode(Path(os.environ[LEDGER]).parent) in words
    else:
        is_ours = os.environ[COOKIE].encode() in (above / "environ").read_bytes()
    if is_ours and meant in words:
        os.kill(pid, signal.SIGKILL)
        time.sleep(120)
    raise ValueError("nobody is there who was meant")
