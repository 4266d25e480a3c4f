"""A worker that is frozen and takes nothing in: its zygote still keeps the deadlines."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tenure.execution.assignment import Assignment
from tenure.execution.protocol import Begin, Start, Until, frame
from tests.execution.attempts import JOB, ROOT, eventually, is_alive
from tests.execution.test_stopping import pids

SMALLEST = 1
"""The kernel makes of it the smallest buffer there is: room for a handful of messages."""

MANY = 40


async def test_deadlines_are_kept_though_nobody_takes_in_what_the_zygote_says(tmp_path: Path) -> None:
    """This test is the worker: it asks for much and listens to nothing."""
    ledger = tmp_path / "on"
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALLEST)
    command = [sys.executable, "-m", "tenure.execution.zygote", str(theirs.fileno())]
    guard = subprocess.Popen(  # noqa: ASYNC220
        [*command, "tests.execution.hostile:app", "0", str(tmp_path)],
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
