"""One attempt in a child or a runner: its hooks, its handler and its report.

`perform` is for lanes in which an attempt has its process or its thread to itself, `perform_in_loop` for
those that share an event loop. They take the same steps, each of which stands here once, and differ in how
they await. One coroutine for both would cost each forked child a dozen pages more (see `process`); for the
same reason names are imported one by one, and `asyncio` not at all.

Plain functions of the user are called in `perform_in_loop` itself, in no coroutine below it: the border of a
coroutine turns a StopIteration into a RuntimeError.
"""

from collections.abc import Callable
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tenure.core.errors import InvalidJson
from tenure.core.model.retry import HandlerReport, OutOfMemory, Returned, describe, unkept
from tenure.core.values.documents import NULL, write
from tenure.core.values.failure import Failure
from tenure.execution.child.own_source import source_of
from tenure.execution.handler.context import Context
from tenure.execution.handler.handler import App, Handler
from tenure.execution.handler.tracing import enter, leave
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.limits import met_by, open_the_reserve
from tenure.execution.protocol.messages import HookFailedMessage

if TYPE_CHECKING:
    from tenure.execution.handler.channel import Channel
    from tenure.execution.handler.mux import MuxStream

Run = Callable[[Any, Any], Any]
"""Takes the attempt's channel and an awaitable, and returns what came of it."""

_OUR_FRAMES = frozenset(
    {
        __name__,
        "asyncio.base_events",
        "asyncio.runners",
        "tenure.execution.child.process",
        "tenure.execution.child.process_life",
        "tenure.execution.child.reusable_loop",
    }
)


def perform(
    channel: "Channel | MuxStream", assignment: Assignment, find_app: Callable[[], App], run: Run
) -> HandlerReport:
    """Run one attempt and return its report; never raises. `run` runs an awaitable to its end."""
    entered = None
    try:
        handler = find_app().handler(assignment.definition, assignment.version)
        if assignment.traceparent is not None:
            entered = enter(assignment.traceparent)
        context = Context(channel, assignment, _params(handler, assignment))
        if "on_start" in handler.hooks and assignment.hook is None:
            try:
                started = _call_hook(handler.hooks["on_start"], context, None)
                if hasattr(started, "__await__"):
                    run(channel, started)
            except Exception as error:
                _send_hook_failure(channel, error)
        result = _call(handler, assignment, context)
        # Not by `inspect.isawaitable`: the abstract class behind it touches, and so copies, many pages.
        if hasattr(result, "__await__"):
            result = run(channel, result)
        return _returned(assignment, context, result)
    except BaseException as error:  # SystemExit and CancelledError too: they are how the handler ended
        return report_of(error)
    finally:
        if entered is not None:
            leave(entered)


async def perform_in_loop(
    channel: "Channel | MuxStream", assignment: Assignment, find_app: Callable[[], App]
) -> HandlerReport:
    """The same in an event loop that others share."""
    entered = None
    try:
        handler = find_app().handler(assignment.definition, assignment.version)
        if assignment.traceparent is not None:
            entered = enter(assignment.traceparent)
        context = Context(channel, assignment, _params(handler, assignment))
        if "on_start" in handler.hooks and assignment.hook is None:
            try:
                started = _call_hook(handler.hooks["on_start"], context, None)
                if hasattr(started, "__await__"):
                    await started
            except Exception as error:
                _send_hook_failure(channel, error)
        result = _call(handler, assignment, context)
        if hasattr(result, "__await__"):
            result = await result
        return _returned(assignment, context, result)
    except BaseException as error:
        return report_of(error)
    finally:
        if entered is not None:
            leave(entered)


def _params(handler: Handler, assignment: Assignment) -> Any:
    if assignment.hook is None:
        return handler.decode(assignment.params)
    try:
        return handler.decode(assignment.params)
    except Exception:  # the library's or the user's own; it may be the very failure that the hook is for
        return None


def _call(handler: Handler, assignment: Assignment, context: Context) -> Any:
    if assignment.hook is None:
        return handler.run(context.params, context)
    return _call_hook(handler.hooks[assignment.hook], context, assignment.error)


def _call_hook(hook: Callable[..., Any], context: Context, error: Failure | None) -> Any:
    try:
        signature(hook).bind(context, error)
    except TypeError:
        return hook(context)
    return hook(context, error)


def _send_hook_failure(channel: "Channel | MuxStream", error: Exception) -> None:
    """Tell the worker that `on_start` failed; a hook changes no outcome."""
    channel.send(HookFailedMessage("on_start", describe(error).error))


def _returned(assignment: Assignment, context: Context, result: Any) -> HandlerReport:
    if context._calls is not None:
        context._calls.check_swallowed()
    if result is None or assignment.hook is not None:
        return Returned(NULL)
    try:
        return Returned(write(result))
    except InvalidJson as error:
        return unkept(error)


def report_of(error: BaseException) -> HandlerReport:
    """The exception that ended an attempt, as data; where a limit caused it, the message names the limit."""
    if isinstance(error, MemoryError):
        open_the_reserve()
        return OutOfMemory()
    raised = describe(error.with_traceback(handler_traceback(error.__traceback__)))
    limit = met_by(error) or ""
    told = replace(raised.error, message=f"{raised.error.message}{limit}", source=source_of(error))
    return replace(raised, error=told)


def handler_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the handler's first frame on; whole where there is none."""
    inner = traceback
    while inner is not None and inner.tb_frame.f_globals.get("__name__") in _OUR_FRAMES:
        inner = inner.tb_next
    return inner or traceback
