"""An app whose handlers do what no handler should: by mistake, in despair, or out of malice."""

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenure.core.model.retry import Returned
from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import Handler
from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.messages import ReportMessage

FOREVER = 3600
LONG_ENOUGH = 120
HOARD: list[bytes] = []


def ignores_sigterm(params: str, ctx: Context) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _write_down(params)
    time.sleep(FOREVER)


def daemonises(params: str, ctx: Context) -> str:
    """Leave a process behind by the book: fork, new session, fork again."""
    _daemon(params)
    _await_lines(params, 1)
    return "done"


def daemonises_and_hangs(params: str, ctx: Context) -> None:
    _daemon(params)
    _await_lines(params, 1)
    _write_down(params)
    time.sleep(FOREVER)


def has_a_family(params: str, ctx: Context) -> None:
    """A child in the same group, one in a session of its own, and a daemon."""
    for leave in (False, True):
        if os.fork() == 0:
            if leave:
                os.setsid()
            _write_down(params)
            time.sleep(FOREVER)
    _daemon(params)
    _await_lines(params, 3)
    _write_down(params)
    time.sleep(FOREVER)


def forks_without_end(params: str, ctx: Context) -> None:
    """Three hundred processes in three generations, many of them in a session of their own."""
    for offspring in (12, 24):
        for n in range(offspring):
            if os.fork() == 0:
                if n % 3 == 0:
                    os.setsid()
                break
        else:
            break
    _write_down(params)
    time.sleep(FOREVER)


def forks_on_and_on(params: str, ctx: Context) -> None:
    """Leave a process that always has another number and session; as long as it is there a file is locked."""
    end = time.monotonic() + LONG_ENOUGH
    held = os.open(params, os.O_WRONLY | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    if os.fork():
        os.close(held)
        return
    while time.monotonic() < end and not os.fork():
        os.setsid()
    os._exit(0)


def returns_twice(params: Any, ctx: Context) -> str:
    """Let the wrong process be the first to return."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return "parent" if child else "child"


def allocates(params: int, ctx: Context) -> int:
    taken: list[bytearray] = []
    while len(taken) << 24 < params:
        taken.append(bytearray(1 << 24))
    return len(taken)


def takes_the_last_byte(params: Any, ctx: Context) -> None:
    for size in (1 << 24, 1 << 20, 1 << 16, 1 << 12, 256, 32):
        try:
            while True:
                HOARD.append(bytes(size))
        except MemoryError:
            continue
    raise MemoryError


def spins(params: Any, ctx: Context) -> None:
    while True:
        pass


def floods(params: int, ctx: Context) -> None:
    """So many bytes without a newline."""
    piece = b"x" * 65_536
    for _ in range(params // len(piece)):
        os.write(1, piece)


def floods_lines(params: int, ctx: Context) -> None:
    for n in range(params):
        print(n)


def prints_binary(params: Any, ctx: Context) -> None:
    sys.stdout.buffer.write(b"\xff\x00\x1b[2Jred\r\nnext\x9b\xe2\x80\xa8end\n")


def closes_its_pipe(params: Any, ctx: Context) -> None:
    os.close(_socket())
    time.sleep(FOREVER)


def writes_garbage(params: str, ctx: Context) -> None:
    os.write(_socket(), bytes.fromhex(params))
    time.sleep(FOREVER)


def sends_result(params: str, ctx: Context) -> None:
    """Report a result of one's own making, past every check, and stay."""
    os.write(_socket(), frame(ReportMessage(Returned(params))))  # type: ignore[arg-type]
    time.sleep(FOREVER)


def exits_silently(params: int, ctx: Context) -> None:
    os._exit(params)


def kills_itself(params: int, ctx: Context) -> None:
    os.kill(os.getpid(), params)
    time.sleep(FOREVER)


def stops_itself(params: str, ctx: Context) -> None:
    _write_down(params)
    os.kill(os.getpid(), signal.SIGSTOP)


def kills_its_parent(params: str, ctx: Context) -> None:
    """End the zygote, with a daemon and a child that nothing of the zygote's can end any more."""
    _daemon(params)
    if os.fork() == 0:
        _write_down(params)
        time.sleep(FOREVER)
    _await_lines(params, 2)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(FOREVER)


def stops_its_parent(params: str, ctx: Context) -> None:
    _write_down(params)
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(FOREVER)


def hangs(params: str, ctx: Context) -> None:
    _write_down(params)
    time.sleep(FOREVER)


def sleeps(params: float, ctx: Context) -> None:
    time.sleep(params)


def stops_its_elders(params: str, ctx: Context) -> None:
    """Stop the guard, which would notice, and then the zygote."""
    zygote = os.getppid()
    guard = int(Path(f"/proc/{zygote}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGSTOP)
    os.kill(zygote, signal.SIGSTOP)
    _write_down(params)
    time.sleep(FOREVER)


def reports_and_stays(params: str, ctx: Context) -> None:
    os.write(_socket(), frame(ReportMessage(Returned('"done"'))))  # type: ignore[arg-type]
    _write_down(params)
    time.sleep(FOREVER)


def returns_badly(params: str, ctx: Context) -> object:
    made: dict[str, Callable[[], object]] = {
        "nan": lambda: float("nan"),
        "huge": lambda: "x" * 300_000,
        "object": object,
        "bytes": lambda: b"x",
        "deep": _deep,
        "nul": lambda: "\x00",
    }
    return made[params]()


def returns(params: Any, ctx: Context) -> Any:
    return params


def _deep() -> object:
    value: list[object] = []
    for _ in range(1_000_000):
        value = [value]
    return value


def _daemon(ledger: str) -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            _write_down(ledger)
            time.sleep(FOREVER)
        os._exit(0)
    os.waitpid(child, 0)


def _write_down(ledger: str) -> None:
    """Add this process to the list that the test reads; one write, so that lines do not mix."""
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    os.close(descriptor)


def _await_lines(ledger: str, count: int) -> None:
    while not (Path(ledger).exists() and Path(ledger).read_text().count("\n") >= count):
        time.sleep(0.002)


def _socket() -> int:
    for entry in list(Path("/proc/self/fd").iterdir()):
        try:
            if int(entry.name) > 2 and entry.readlink().name.startswith("socket:"):
                return int(entry.name)
        except OSError:
            continue
    raise LookupError("no socket")


class App:
    """The handlers of this module by name."""

    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], json.loads)

    def manifest(self) -> bytes:
        return b""


app = App()
