"""A child: from the fork, through one attempt, to its end. Nothing here ever returns to the zygote.

The first half is done ahead of time where a child is kept as a spare; the second begins when the descriptors
of an attempt have come. It leaves by `os._exit`, so that nothing of the zygote's is flushed or closed twice.
"""

import asyncio
import inspect
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any
from uuid import UUID

from tenure.core.documents import NULL, write
from tenure.core.errors import InvalidJson
from tenure.core.outcome import Failure
from tenure.core.retry import OutOfMemory, Raised, Returned, describe
from tenure.execution import kernel, limits
from tenure.execution.assignment import Assignment
from tenure.execution.channel import Channel
from tenure.execution.context import Context
from tenure.execution.handler import App, Handler
from tenure.execution.protocol import DESCRIPTORS, Begin, HookFailed, Reported, frame

_CONNECTION = 3
"""The descriptor of a child's socket; below it are only stdin, stdout and stderr."""

_IN_VAIN = Assignment(job=UUID(int=0), fence=0, attempt=0, definition="", version=0)
_OUR_FRAMES = frozenset({__name__, "asyncio.runners", "asyncio.base_events"})


def prepare(zygote: int, folder: str, kept: list[int]) -> None:
    """Become a process of its own: session, temporary folder, and none but the kept descriptors."""
    os.setsid()
    kernel.die_with_parent(zygote)
    kernel.adopt_orphans()  # so that it is known whose they are: see the zygote
    signal.set_wakeup_fd(-1)
    os.umask(0o077)
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
    _close_all_but(kept)


def rehearse() -> None:
    """Do in vain what every attempt does, while there is time.

    A forked process copies each page of memory when it first touches it, which is most of what a start costs.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frame(Begin(_IN_VAIN, {})))
        channel = Channel(ours)
        assignment = channel.begin().assignment
        Context(channel, assignment, None).cancelled.is_set()
        channel.send(Reported(Returned(write(None))))


def await_descriptors(handed_over: int) -> list[int]:
    """Wait, as a spare, for the descriptors of an attempt."""
    with socket.socket(fileno=handed_over) as connection:
        _, descriptors, _, _ = socket.recv_fds(connection, 1, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    if len(descriptors) != DESCRIPTORS:  # the zygote has no more use for it
        os._exit(0)
    return descriptors


def attend(descriptors: list[int], find: Callable[[], App]) -> None:
    """Run one attempt: the descriptors are its socket, its stdout and its stderr."""
    connection, output, errors = descriptors
    os.dup2(output, 1)
    os.dup2(errors, 2)
    if connection != _CONNECTION:
        os.dup2(connection, _CONNECTION, inheritable=False)
    _close_all_but([_CONNECTION])
    channel = Channel(socket.socket(fileno=_CONNECTION))
    signal.signal(signal.SIGTERM, lambda _number, _frame: channel.cancel())
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    begin = channel.begin()
    own = os.getpid()
    os.environ.update(begin.environment)
    limits.apply(begin.assignment.limits)
    report = _attempt(channel, begin.assignment, find)
    if os.getpid() != own:  # the handler forked, and this is not the process that was asked
        os._exit(0)
    _flush()
    channel.send(Reported(report))
    os._exit(0)


def _attempt(
    channel: Channel, assignment: Assignment, find: Callable[[], App]
) -> Returned | Raised | OutOfMemory:
    try:
        handler = find().handler(assignment.definition, assignment.version)
        return _perform(channel, assignment, handler)
    except MemoryError:
        limits.open_the_reserve()
        return OutOfMemory()
    except BaseException as error:  # also SystemExit and CancelledError: the handler's end is to be told
        return describe(error.with_traceback(_handlers_own(error.__traceback__)))


def _perform(channel: Channel, assignment: Assignment, handler: Handler) -> Returned | Raised:
    if assignment.hook is not None:
        context = Context(channel, assignment, _params_if_any(handler, assignment))
        _call_hook(channel, handler.hooks[assignment.hook], context, assignment.error)
        return Returned(NULL)
    context = Context(channel, assignment, handler.decode(assignment.params))
    if "on_start" in handler.hooks:
        try:
            _call_hook(channel, handler.hooks["on_start"], context, None)
        except Exception as error:  # a hook changes no outcome
            channel.send(HookFailed("on_start", describe(error).error))
    result = _finish(channel, handler.run(context.params, context))
    try:
        return Returned(write(result))
    except InvalidJson as error:
        kind = "ResultTooLarge" if error.code == "too-large" else "ResultNotJson"
        return Raised(Failure(kind, f"the handler's result: {error}"), (kind,))


def _params_if_any(handler: Handler, assignment: Assignment) -> Any:
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
    return asyncio.run(_await(channel, value)) if hasattr(value, "__await__") else value


async def _await(channel: Channel, work: Any) -> Any:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    loop.add_reader(channel.fileno(), channel.look)
    forget = channel.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        forget()
        loop.remove_reader(channel.fileno())


def _handlers_own(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the handler's first frame on; whole where there is none."""
    inner = traceback
    while inner is not None and inner.tb_frame.f_globals.get("__name__") in _OUR_FRAMES:
        inner = inner.tb_next
    return inner or traceback


def _flush() -> None:
    for flush in (sys.stdout.flush, sys.stderr.flush, logging.shutdown):
        try:
            flush()
        except (OSError, ValueError):  # closed by the handler
            pass


def _close_all_but(kept: list[int]) -> None:
    """Close every descriptor but stdin, stdout, stderr and these."""
    low = _CONNECTION
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
