"""A child: from the fork, through one attempt, to its end. Nothing here ever returns to the zygote.

A spare does the first half ahead of time; the second half begins when the descriptors of an attempt arrive.
The child leaves by `_exit`, so that nothing of the zygote's is flushed or closed twice.

A forked process copies each page of memory when it first writes to it, and reference counts are written
everywhere: the pages touched here are most of what an attempt costs. So names are imported one by one (to
look into a module writes to more pages than to call what was found), and what can be done once is done in the
zygote.
"""

import signal
import socket
import sys
from _signal import pthread_sigmask  # type: ignore[import-not-found]  # `signal` makes an enum of each answer
from collections.abc import Callable
from os import _exit, closerange, dup2, environ, getpid, setsid, sysconf
from signal import set_wakeup_fd
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from tenure.core.model.retry import HandlerReport
from tenure.execution.child.performance import perform
from tenure.execution.handler.channel import Channel
from tenure.execution.handler.handler import App, Handler
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.frames import frame
from tenure.execution.protocol.kernel import belong_to, keep_signals
from tenure.execution.protocol.limits import apply
from tenure.execution.protocol.messages import DESCRIPTORS, Begin, ReportMessage

if TYPE_CHECKING:
    from tenure.execution.handler.mux import MuxStream

_CONNECTION = 3
"""The descriptor of a child's socket; below it are only stdin, stdout and stderr."""

ONE_ATTEMPT = b"\0"
"""Sent to a spare that is to run one attempt; a runner is sent its lane instead."""

_SET_MASK = int(signal.SIG_SETMASK)


class ProcessCourse(Protocol):
    """What the app wants done in a process beside its attempt: `attempt_life` has it."""

    def perform(self, channel: Channel, assignment: Assignment, find_app: Callable[[], App]) -> HandlerReport:
        """Run what comes before the attempt and the attempt, and return its report."""

    def finish(self) -> None:
        """Run what comes after it."""


active: list["Channel | MuxStream"] = []
"""The channel of the attempt that runs alone in this process: a signal to stop is for that attempt."""


own_process: list[int] = []
"""The pid of this process, once it runs attempts; a process that a handler forks inherits another one's."""


def current_attempt() -> "Channel | MuxStream | None":
    """The attempt in whose name the calling code runs; None if there is none, or in a forked process."""
    if own_process != [getpid()]:
        return None
    if active:
        return active[-1]
    stdio = sys.modules.get("tenure.execution.child.stdio")  # loaded where attempts share a process
    return None if stdio is None else stdio.current_stream.get()


def on_sigterm(_number: int, _frame: FrameType | None) -> None:
    """Ask the attempt to stop. The zygote installs this once, and blocks the signal for itself."""
    for channel in active:
        channel.cancel()


def prepare(zygote: int, folder: str, scope: int | None) -> None:
    """Become a process of its own, with a session and a temporary folder; with a `scope` for its signals."""
    setsid()
    belong_to(zygote)
    if scope is not None:
        keep_signals(scope)
    set_wakeup_fd(-1)
    environ["TMPDIR"] = folder
    if "tempfile" in sys.modules:  # which remembers the folder it has found
        import tempfile

        tempfile.tempdir = None


def close_all_but(kept: int) -> None:
    """Close every descriptor but stdin, stdout, stderr and this one."""
    closerange(_CONNECTION, kept)
    closerange(kept + 1, sysconf("SC_OPEN_MAX"))


def await_descriptors(handover: int) -> tuple[list[int], str]:
    """Wait, as a spare, for descriptors, and for the lane of a runner: empty for one attempt."""
    with socket.socket(fileno=handover) as connection:
        lane, descriptors, _, _ = socket.recv_fds(connection, 16, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    if len(descriptors) != DESCRIPTORS:  # the zygote no longer needs it
        _exit(0)
    return descriptors, "" if lane == ONE_ATTEMPT else lane.decode()


def place_descriptors(descriptors: list[int]) -> int:
    """Put the descriptors where they belong and close all others; returns that of the socket."""
    connection, output, errors = descriptors
    dup2(output, 1)
    dup2(errors, 2)
    if connection != _CONNECTION:
        dup2(connection, _CONNECTION, inheritable=False)
    close_all_but(_CONNECTION)
    return _CONNECTION


def run_attempt(
    descriptors: list[int], find_app: Callable[[], App], life: "ProcessCourse | None" = None
) -> None:
    """Run one attempt: the descriptors are its socket, its stdout and its stderr.

    `life` has hooks of the app to run before it and after it.
    """
    channel = Channel(place_descriptors(descriptors))
    active.append(channel)
    pthread_sigmask(_SET_MASK, ())

    begin = channel.begin()
    own = getpid()
    own_process.append(own)
    for name, value in begin.environment.items():
        environ[name] = value
    apply(begin.assignment.limits)
    if life is None:
        report = perform(channel, begin.assignment, find_app, _run_to_end)
    else:
        report = life.perform(channel, begin.assignment, find_app)
    if getpid() != own:  # the handler forked, and this process is not the attempt's
        _exit(0)
    _flush()
    channel.send(ReportMessage(report))
    if life is not None:
        active.clear()  # nothing after the report counts: what hooks log now is output
        life.finish()
        _flush()
    _exit(0)


def rehearse() -> None:
    """Dry-run an attempt, so that forks share warmed pages.

    The zygote resolves names and methods once, and no child has to write them down; a spare that rehearses
    has its own pages before its attempt arrives.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(_REHEARSAL)
        channel = Channel(ours.fileno())
        report = perform(channel, channel.begin().assignment, _RehearsalApp, _run_to_end)
        channel.send(ReportMessage(report))


class _RehearsalApp:
    def handler(self, _key: str, _version: int) -> Handler:
        return Handler(lambda _params, _ctx: None, lambda _text: None)

    def manifest(self) -> bytes:
        return b""


_REHEARSAL = frame(Begin(Assignment(job=UUID(int=0), fence=0, attempt=0, definition="", version=0), {}))


def _run_to_end(channel: Channel, awaitable: Any) -> Any:
    """Run an awaitable in an event loop; it is cancelled when the attempt is to stop."""
    import asyncio

    return asyncio.run(awaited(channel, awaitable))


async def awaited(channel: Channel, awaitable: Any) -> Any:
    """Await it; it is cancelled when the attempt is to stop."""
    import asyncio

    loop = asyncio.get_running_loop()
    task = channel.task = asyncio.ensure_future(awaitable)
    loop.add_reader(channel.fileno(), channel.look)
    forget = channel.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        forget()
        loop.remove_reader(channel.fileno())


def _flush() -> None:
    logging = sys.modules.get("logging")
    for flush in (sys.stdout.flush, sys.stderr.flush, *([logging.shutdown] if logging else [])):
        try:
            flush()
        except (OSError, ValueError):  # closed by the handler
            pass
