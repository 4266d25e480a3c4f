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

from tenure.core.model.retry import Returned
from tenure.execution.parent.attempt_terms import Ended, StopReason, StopRequest
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.parent.zygote_client import ZygoteClient
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import ANY, Begin, Start, Until
from tests.execution.attempts import BOUND, JOB, ROOT, is_alive, opened, run
from tests.execution.parent.test_stopping import pids
from tests.execution.test_bystanders import begun
from tests.execution.zygote.test_survivors import parent_of
from tests.until import until

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
        [*command, "tests.execution.hostile_app:app", "0", str(tmp_path), ANY],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)},
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    with guard, ours:
        kept = [start(ours, 0, "ignores_sigterm", f'"{ledger}"')]
        await until(lambda: pids(ledger))
        kept += [start(ours, n, "exits_silently", "0") for n in range(1, MANY)]
        await until(lambda: all(map(is_hung_up, kept[1:])))
        ours.sendall(frame(Until(0, time.monotonic())))
        await until(lambda: not any(map(is_alive, pids(ledger))))
        for one in kept:
            one.close()


async def test_a_zygote_that_was_stopped_itself_ends_nobody_whose_lease_was_kept_meanwhile(
    tmp_path: Path,
) -> None:
    """All that the worker has said since then counts: of two deadlines, it has moved one."""
    kept, ended = tmp_path / "kept", tmp_path / "ended"
    async with opened("tests.execution.hostile_app:app", spares=0) as lane:
        late, soon = StopRequest(), StopRequest()
        late.prolong(time.monotonic() + LEASE)
        soon.prolong(time.monotonic() + LEASE)
        running = await begun(lane, "ignores_sigterm", kept, stop=late)
        other = await begun(lane, "ignores_sigterm", ended, stop=soon)
        zygote = parent_of(pids(kept)[0])
        os.kill(zygote, signal.SIGSTOP)
        another = await asked_for(lane)
        late.prolong(time.monotonic() + BOUND)
        await until(lambda: soon.deadline is not None and time.monotonic() > soon.deadline)
        os.kill(zygote, signal.SIGCONT)
        assert (await other).end is None
        assert is_alive(pids(kept)[0])
        late.ask(StopReason.SHUTDOWN)
        await running
        assert isinstance((await another).end, Returned)


async def asked_for(lane: ProcessLane) -> asyncio.Task[Ended]:
    """An attempt that the zygote was told to start, whether or not it listens."""
    started = ZygoteClient.start
    told = asyncio.Event()

    def start(*given: Any, **named: Any) -> Any:
        told.set()
        return started(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ZygoteClient, "start", start)
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
