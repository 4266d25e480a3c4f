"""A child: from the fork, through one attempt, to its end. Nothing here ever returns to the zygote.

The first half is done ahead of time where a child is kept as a spare; the second begins when the descriptors
of an attempt have come. It leaves by `_exit`, so that nothing of the zygote's is flushed or closed twice.

A forked process copies each page of memory when it first writes to it, and counts references in all of them:
what is touched here is most of what an attempt costs. So names are imported one by one (to look into a module
writes to more pages than to call what was found), and what can be done once is done in the zygote.
"""

import inspect
import signal
import socket
import sys
from _signal import pthread_sigmask  # type: ignore[import-not-found]  # `signal` makes an enum of each answer
from collections.abc import Callable
from os import _exit, closerange, dup2, environ, getpid, setsid, sysconf
from signal import set_wakeup_fd
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.documents import NULL, write
from tenure.core.errors import InvalidJson
from tenure.core.outcome import Failure
from tenure.core.retry import OutOfMemory, Raised, Returned, describe, unkept
from tenure.execution.assignment import Assignment
from tenure.execution.channel import Channel
from tenure.execution.context import Context
from tenure.execution.handler import App, Handler
from tenure.execution.kernel import belong_to, keep_signals
from tenure.execution.limits import apply, met_by, open_the_reserve
from tenure.execution.protocol import DESCRIPTORS, Begin, HookFailed, Reported, frame
from tenure.execution.tracing import enter

if TYPE_CHECKING:
    from tenure.execution.hub import Strand

_CONNECTION = 3
"""The descriptor of a child's socket; below it are only stdin, stdout and stderr."""

ONE_ATTEMPT = b"\0"
"""What a spare is told that is to run one attempt, and not to be a runner."""

_SET_MASK = int(signal.SIG_SETMASK)
_OUR_FRAMES = frozenset(
    {
        __name__,
        "asyncio.base_events",
        "asyncio.runners",
        "tenure.execution.kept_loop",
        "tenure.execution.performing",
    }
)

attending: list["Channel | Strand"] = []
"""Whom a signal to stop is for."""


def stop(_number: int, _frame: FrameType | None) -> None:
    """What SIGTERM does in a child; the zygote sets it once, and lets no such signal through to itself."""
    for channel in attending:
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


def await_descriptors(handed_over: int) -> tuple[list[int], str]:
    """Wait, as a spare, for descriptors; and for the lane of which to be a runner, or none for an attempt."""
    with socket.socket(fileno=handed_over) as connection:
        lane, descriptors, _, _ = socket.recv_fds(connection, 16, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    if len(descriptors) != DESCRIPTORS:  # the zygote has no more use for it
        _exit(0)
    return descriptors, "" if lane == ONE_ATTEMPT else lane.decode()


def settle_in(descriptors: list[int]) -> int:
    """Have the descriptors where they belong, and no others; answers with that of the socket."""
    connection, output, errors = descriptors
    dup2(output, 1)
    dup2(errors, 2)
    if connection != _CONNECTION:
        dup2(connection, _CONNECTION, inheritable=False)
    close_all_but(_CONNECTION)
    return _CONNECTION


def attend(descriptors: list[int], find: Callable[[], App]) -> None:
    """Run one attempt: the descriptors are its socket, its stdout and its stderr."""
    channel = Channel(settle_in(descriptors))
    attending.append(channel)
    pthread_sigmask(_SET_MASK, ())

    begin = channel.begin()
    own = getpid()
    for name, value in begin.environment.items():
        environ[name] = value
    apply(begin.assignment.limits)
    report = _attempt(channel, begin.assignment, find)
    if getpid() != own:  # the handler forked, and this is not the process that was asked
        _exit(0)
    _flush()
    channel.send(Reported(report))
    _exit(0)


def rehearse() -> None:
    """Do in vain what every attempt does.

    What the zygote finds out by it, such as where a method is, no child has to write down; and a spare that
    does it has its pages when its attempt comes.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(_IN_VAIN)
        channel = Channel(ours.fileno())
        report = _attempt(channel, channel.begin().assignment, _Nobody)
        channel.send(Reported(report))


class _Nobody:
    """The app of a rehearsal."""

    def handler(self, _key: str, _version: int) -> Handler:
        return Handler(lambda _params, _ctx: None, lambda _text: None)

    def manifest(self) -> bytes:
        return b""


_IN_VAIN = frame(Begin(Assignment(job=UUID(int=0), fence=0, attempt=0, definition="", version=0), {}))


def _attempt(
    channel: Channel, assignment: Assignment, find: Callable[[], App]
) -> Returned | Raised | OutOfMemory:
    try:
        handler = find().handler(assignment.definition, assignment.version)
        if assignment.traceparent is not None:
            enter(assignment.traceparent)
        return _perform(channel, assignment, handler)
    except MemoryError:
        open_the_reserve()
        return OutOfMemory()
    except BaseException as error:  # also SystemExit and CancelledError: the handler's end is to be told
        return told(error)


def told(error: BaseException) -> Raised:
    """An exception of the handler's as data; where it tells of a limit, with the name of that."""
    found = describe(error.with_traceback(handlers_own(error.__traceback__)))
    if not (limit := met_by(error)):
        return found
    return replace(found, error=replace(found.error, message=f"{found.error.message}{limit}"))


def _perform(channel: Channel, assignment: Assignment, handler: Handler) -> Returned | Raised:
    if assignment.hook is not None:
        context = Context(channel, assignment, params_if_any(handler, assignment))
        _call_hook(channel, handler.hooks[assignment.hook], context, assignment.error)
        return Returned(NULL)
    context = Context(channel, assignment, handler.decode(assignment.params))
    if "on_start" in handler.hooks:
        try:
            _call_hook(channel, handler.hooks["on_start"], context, None)
        except Exception as error:  # a hook changes no outcome
            channel.send(HookFailed("on_start", describe(error).error))
    result = _finish(channel, handler.run(context.params, context))
    if result is None:
        return Returned(NULL)
    try:
        return Returned(write(result))
    except InvalidJson as error:
        return unkept(error)


def params_if_any(handler: Handler, assignment: Assignment) -> Any:
    """The params for a hook: that they could not be read may be the very failure it is told of."""
    try:
        return handler.decode(assignment.params)
    except Exception:  # the library's or the user's own
        return None


def _call_hook(channel: Channel, hook: Callable[..., Any], context: Context, error: Failure | None) -> None:
    try:
        inspect.signature(hook).bind(context, error)
    except TypeError:
        _finish(channel, hook(context))
    else:
        _finish(channel, hook(context, error))


def _finish(channel: Channel, value: Any) -> Any:
    """The value, or what comes of it where it is to be awaited."""
    # Not by `inspect.isawaitable`: the abstract class behind it touches, and so copies, many pages.
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    return asyncio.run(_await(channel, value))


async def _await(channel: Channel, work: Any) -> Any:
    import asyncio

    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    loop.add_reader(channel.fileno(), channel.look)
    forget = channel.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        forget()
        loop.remove_reader(channel.fileno())


def handlers_own(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the handler's first frame on; whole where there is none."""
    inner = traceback
    while inner is not None and inner.tb_frame.f_globals.get("__name__") in _OUR_FRAMES:
        inner = inner.tb_next
    return inner or traceback


def _flush() -> None:
    logging = sys.modules.get("logging")
    for flush in (sys.stdout.flush, sys.stderr.flush, *([logging.shutdown] if logging else [])):
        try:
            flush()
        except (OSError, ValueError):  # closed by the handler
            pass
