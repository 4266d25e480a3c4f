"""Where handlers run in a test: in its thread, or on its event loop.

In a plain test everything runs in the test's own thread, as code of Django and others expects: connections
and transactions of the test are the handler's too. In an async test an `async def` runs on the test's loop
and a `def` in a thread beside it, so that neither blocks the other.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from tenure.core.model.retry import HandlerReport, Raised
from tenure.execution.child.performance import perform, perform_in_loop
from tenure.execution.handler.handler import Handler
from tenure.execution.protocol.messages import ReportMessage
from tenure.testing.inline_channel import InlineChannel
from tenure.testing.inline_lane import InlineAttempt

T = TypeVar("T")
Post = Callable[[InlineAttempt], None]
Work = Callable[[Post], Coroutine[Any, Any, T]]
"""Runs on the loop of the store; what it posts runs on the stage."""

is_on_stage: ContextVar[bool] = ContextVar("is_on_stage", default=False)
"""Whether this code is a handler's: it may use no store but through `ctx`."""


class PlainStage:
    """Runs handlers in the thread that calls `run`."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, work: Work[T], loop: asyncio.AbstractEventLoop) -> T:
        """Do the work on `loop`, and meanwhile what it posts, here."""
        posted: SimpleQueue[InlineAttempt | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(work(posted.put), loop)
        future.add_done_callback(lambda _: posted.put(None))
        try:
            while (attempt := posted.get()) is not None:
                self._perform(attempt)
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Close the loop of async handlers."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _perform(self, attempt: InlineAttempt) -> None:
        def on_stage() -> HandlerReport:
            is_on_stage.set(True)
            return perform(
                attempt.channel, attempt.assignment, lambda: _OneHandler(attempt.handler), self._run_to_end
            )

        report = copy_context().run(on_stage)
        if isinstance(report, Raised) and "KeyboardInterrupt" in report.lineage:
            raise KeyboardInterrupt
        attempt.channel.send(ReportMessage(report))

    def _run_to_end(self, channel: InlineChannel, awaitable: Any) -> Any:
        """Run what a handler returned; it is cancelled when the attempt is to stop."""
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        return self._runner.run(_until_cancelled(channel, awaitable), context=copy_context())


async def run_on_this_loop(work: Work[T], loop: asyncio.AbstractEventLoop) -> T:
    """Do the work on `loop`, and meanwhile what it posts, here: plain functions in threads."""
    here = asyncio.get_running_loop()
    posted: asyncio.Queue[InlineAttempt | None] = asyncio.Queue()

    def post(attempt: InlineAttempt) -> None:
        here.call_soon_threadsafe(posted.put_nowait, attempt)

    future = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(post), loop))
    future.add_done_callback(lambda _: posted.put_nowait(None))
    try:
        async with asyncio.TaskGroup() as tasks:
            try:
                while (attempt := await posted.get()) is not None:
                    tasks.create_task(_perform_in_loop(attempt))
            except asyncio.CancelledError:
                future.cancel()  # first: how its handlers now end is not their doing, and not to be kept
                raise
        return await future
    finally:
        future.cancel()


async def _perform_in_loop(attempt: InlineAttempt) -> None:
    is_on_stage.set(True)
    channel, given = attempt.channel, attempt.handler
    hooks = {name: _beside_the_loop(channel, hook) for name, hook in given.hooks.items()}
    handler = Handler(_beside_the_loop(channel, given.run), given.decode, hooks)
    report = await perform_in_loop(channel, attempt.assignment, lambda: _OneHandler(handler))
    channel.send(ReportMessage(report))


class _OneHandler:
    """An app with one handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def handler(self, _key: str, _version: int) -> Handler:
        """The handler."""
        return self._handler

    def manifest(self) -> bytes:
        """Nothing: no worker asks."""
        return b""


async def _until_cancelled(channel: InlineChannel, awaitable: Any) -> Any:
    """Run what a handler returned; it is cancelled when the attempt is to stop."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(awaitable)
    forget = channel.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        forget()


def _beside_the_loop(channel: InlineChannel, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, called in a thread unless it is an `async def`."""

    def call(*arguments: Any) -> tuple[Any, BaseException | None]:
        try:
            return function(*arguments), None
        except BaseException as error:  # a StopIteration would never leave the thread's future
            return None, error

    @functools.wraps(function)
    async def called(*arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await _until_cancelled(channel, function(*arguments))
        result, error = await asyncio.to_thread(call, *arguments)
        if error is not None:
            raise error
        # An `async def` that takes less than a handler is given stands behind a plain function.
        return await _until_cancelled(channel, result) if hasattr(result, "__await__") else result

    return called
