"""One attempt in a runner: its hooks, its handler, and its report. The same as `child` does in a process.

Written once for handlers that share an event loop and for those that do not: it awaits what a handler gives
back where there is a loop, and otherwise has it run to its end by `run`, so that it never waits itself.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from tenure.core.documents import NULL, write
from tenure.core.errors import InvalidJson
from tenure.core.outcome import Failure
from tenure.core.retry import OutOfMemory, Raised, Returned, describe, unkept
from tenure.execution.assignment import Assignment
from tenure.execution.child import params_if_any, told
from tenure.execution.context import Context
from tenure.execution.handler import App, Handler
from tenure.execution.hub import Strand
from tenure.execution.limits import open_the_reserve
from tenure.execution.protocol import HookFailed
from tenure.execution.tracing import enter, leave

Report = Returned | Raised | OutOfMemory
Run = Callable[[Any], Any]


async def perform(
    strand: Strand, assignment: Assignment, find: Callable[[], App], run: Run | None = None
) -> Report:
    """Run one attempt and say how it ended; never raises."""
    entered = None
    try:
        handler = find().handler(assignment.definition, assignment.version)
        entered = None if assignment.traceparent is None else enter(assignment.traceparent)
        return await _perform(strand, assignment, handler, run)
    except MemoryError:
        open_the_reserve()
        return OutOfMemory()
    except BaseException as error:  # also SystemExit and CancelledError: the handler's end is to be told
        return told(error)
    finally:
        leave(entered)


def performed(performing: Coroutine[Any, Any, Report]) -> Report:
    """The report of a performance that was given a `run`, and so never waits."""
    try:
        performing.send(None)
    except StopIteration as end:
        report: Report = end.value
        return report
    raise RuntimeError("a performance without a loop has waited")


async def _perform(strand: Strand, assignment: Assignment, handler: Handler, run: Run | None) -> Report:
    if assignment.hook is not None:
        context = Context(strand, assignment, params_if_any(handler, assignment))
        await _call_hook(handler.hooks[assignment.hook], context, assignment.error, run)
        return Returned(NULL)
    context = Context(strand, assignment, handler.decode(assignment.params))
    if "on_start" in handler.hooks:
        try:
            await _call_hook(handler.hooks["on_start"], context, None, run)
        except Exception as error:  # a hook changes no outcome
            strand.send(HookFailed("on_start", describe(error).error))
    result = handler.run(context.params, context)
    if hasattr(result, "__await__"):
        result = await result if run is None else run(result)
    if result is None:
        return Returned(NULL)
    try:
        return Returned(write(result))
    except InvalidJson as error:
        return unkept(error)


async def _call_hook(
    hook: Callable[..., Any], context: Context, error: Failure | None, run: Run | None
) -> None:
    import inspect

    try:
        inspect.signature(hook).bind(context, error)
    except TypeError:
        result = hook(context)
    else:
        result = hook(context, error)
    if hasattr(result, "__await__"):
        result = await result if run is None else run(result)
