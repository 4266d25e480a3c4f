"""Where handlers run in a test: in its thread, or on its event loop.

In a plain test everything runs in the test's own thread, as code of Django and others expects: connections
and transactions of the test are the handler's too. In an async test an `async def` runs on the test's loop
and a `def` in a thread beside it, so that neither blocks the other.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from tenure.core.model.retry import HandlerReport, Raised
from tenure.execution.child.performance import perform, perform_in_loop
from tenure.execution.child.process_life import ProcessLife
from tenure.execution.handler.handler import App, Handler
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.messages import ReportMessage
from tenure.testing.inline_channel import InlineChannel
from tenure.testing.inline_lane import InlineAttempt

T = TypeVar("T")
Post = Callable[[InlineAttempt], None]
Work = Callable[[Post], Coroutine[Any, Any, T]]
"""Runs on the loop of the store; what it posts runs on the stage."""

current_channel: ContextVar[InlineChannel | None] = ContextVar("current_channel", default=None)
"""The attempt whose handler this code is, for what it logs."""

is_on_stage: ContextVar[bool] = ContextVar("is_on_stage", default=False)
"""Whether this code is a handler's: it may use no store but through `ctx`."""


class PlainStage:
    """Runs handlers in the thread that calls `run`."""

    def __init__(self, life: ProcessLife) -> None:
        self._runner: asyncio.Runner | None = None
        self._life = life

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
        """Run the app's stop hooks, as at the end of a process, and close the loop of async handlers."""
        failures = self._life.stop(lambda stopped: self._loop().run(_alone(stopped)))
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        raise_first(failures)

    def _perform(self, attempt: InlineAttempt) -> None:
        def on_stage() -> HandlerReport:
            is_on_stage.set(True)
            current_channel.set(attempt.channel)
            failed = self._life.start(attempt.assignment, lambda hook: self._loop().run(_alone(hook)))
            return failed or perform(
                attempt.channel, attempt.assignment, lambda: _OneHandler(attempt.handler), self._run_to_end
            )

        report = copy_context().run(on_stage)
        if isinstance(report, Raised) and "KeyboardInterrupt" in report.lineage:
            raise KeyboardInterrupt
        attempt.channel.send(ReportMessage(report))

    def _run_to_end(self, channel: InlineChannel, awaitable: Any) -> Any:
        """Run what a handler returned; it is cancelled when the attempt is to stop."""
        return self._loop().run(_until_cancelled(channel, awaitable), context=copy_context())

    def _loop(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        return self._runner


class LoopLife(ProcessLife):
    """The hooks of an app around the attempts on a test's own loop, several of which may begin at once."""

    def __init__(self, find_app: Callable[[], App]) -> None:
        super().__init__(find_app)
        self._starting = asyncio.Lock()

    async def start_in_loop(self, assignment: Assignment) -> HandlerReport | None:
        """Run the start hooks, or wait until they have run."""
        async with self._starting:
            return await super().start_in_loop(assignment)


def raise_first(failures: Sequence[tuple[str, BaseException]]) -> None:
    """Raise what the first of some stop hooks raised, if any did: a test should see it."""
    if failures:
        raise failures[0][1]


async def run_on_this_loop(work: Work[T], loop: asyncio.AbstractEventLoop, life: LoopLife) -> T:
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
                    tasks.create_task(_perform_in_loop(attempt, life))
            except asyncio.CancelledError:
                future.cancel()  # first: how its handlers now end is not their doing, and not to be kept
                raise
        return await future
    finally:
        future.cancel()


async def _perform_in_loop(attempt: InlineAttempt, life: LoopLife) -> None:
    is_on_stage.set(True)
    channel, given = attempt.channel, attempt.handler
    current_channel.set(channel)
    if (failed := await life.start_in_loop(attempt.assignment)) is not None:
        channel.send(ReportMessage(failed))
        return
    hooks = {name: _beside_the_loop(channel, hook) for name, hook in given.hooks.items()}
    handler = Handler(_beside_the_loop(channel, given.run), given.decode, hooks)
    report = await perform_in_loop(channel, attempt.assignment, lambda: _OneHandler(handler))
    channel.send(ReportMessage(report))


async def _alone(awaitable: Any) -> Any:
    return await awaitable


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
