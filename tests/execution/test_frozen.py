"""A worker that is frozen and takes nothing in: its zygote still keeps the deadlines."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.retry import Returned
from tenure.execution.assignment import Assignment
from tenure.execution.halting import Ended, Halt, Halting
from tenure.execution.lane import ProcessLane
from tenure.execution.nursery import Nursery
from tenure.execution.protocol import ANY, Begin, Start, Until, frame
from tests.execution.attempts import BOUND, JOB, ROOT, eventually, is_alive, opened, run
from tests.execution.test_bystanders import begun
from tests.execution.test_stopping import pids
from tests.execution.test_survivors import parent_of

SMALLEST = 1
"""The kernel makes of it the smallest buffer there is: room for a handful of messages."""

MANY = 40

LEASE = 3.0
"""Seconds within which two attempts have begun."""


async def test_deadlines_are_kept_though_nobody_takes_in_what_the_zygote_says(tmp_path: Path) -> None:
    """This test is the worker: it asks for much and listens to nothing."""
    ledger = tmp_path / "on"
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALLEST)
    command = [sys.executable, "-m", "tenure.execution.zygote", str(theirs.fileno())]
    guard = subprocess.Popen(  # noqa: ASYNC220
        [*command, "tests.execution.hostile:app", "0", str(tmp_path), ANY],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)},
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    with guard, ours:
        kept = [start(ours, 0, "ignores_sigterm", f'"{ledger}"')]
        await eventually(lambda: pids(ledger))
        kept += [start(ours, n, "exits_silently", "0") for n in range(1, MANY)]
        await eventually(lambda: all(map(is_hung_up, kept[1:])))
        ours.sendall(frame(Until(0, time.monotonic())))
        await eventually(lambda: not any(map(is_alive, pids(ledger))))
        for one in kept:
            one.close()


async def test_a_zygote_that_was_stopped_itself_ends_nobody_whose_lease_was_kept_meanwhile(
    tmp_path: Path,
) -> None:
    """All that the worker has said since then counts: of two deadlines, it has moved one."""
    kept, ended = tmp_path / "kept", tmp_path / "ended"
    async with opened("tests.execution.hostile:app", spares=0) as lane:
        late, soon = Halting(), Halting()
        late.prolong(time.monotonic() + LEASE)
        soon.prolong(time.monotonic() + LEASE)
        running = await begun(lane, "ignores_sigterm", kept, halt=late)
        other = await begun(lane, "ignores_sigterm", ended, halt=soon)
        zygote = parent_of(pids(kept)[0])
        os.kill(zygote, signal.SIGSTOP)
        another = await asked_for(lane)
        late.prolong(time.monotonic() + BOUND)
        await eventually(lambda: soon.deadline is not None and time.monotonic() > soon.deadline)
        os.kill(zygote, signal.SIGCONT)
        assert (await other).end is None
        assert is_alive(pids(kept)[0])
        late.ask(Halt.SHUTDOWN)
        await running
        assert isinstance((await another).end, Returned)


async def asked_for(lane: ProcessLane) -> asyncio.Task[Ended]:
    """An attempt that the zygote was told to start, whether or not it listens."""
    started = Nursery.start
    told = asyncio.Event()

    def start(*given: Any, **named: Any) -> Any:
        told.set()
        return started(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Nursery, "start", start)
        running = asyncio.create_task(run(lane, "returns", 1, job=uuid4()))
        await told.wait()
    return running


def start(control: socket.socket, number: int, definition: str, params: str) -> socket.socket:
    """Ask for a child, and give it its attempt; answers the worker's end of its socket."""
    mine, its = socket.socketpair()
    assigned = Assignment(job=JOB, fence=1, attempt=1, definition=definition, version=1, params=params)
    mine.sendall(frame(Begin(assigned, {})))
    with its, Path(os.devnull).open("wb") as nothing:
        given = [its.fileno(), nothing.fileno(), nothing.fileno()]
        socket.send_fds(control, [frame(Start(number))], given)
    return mine


def is_hung_up(connection: socket.socket) -> bool:
    """Whether the child at the other end is gone."""
    try:
        return connection.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
