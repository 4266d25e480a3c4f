"""Where handlers run in a test: in its thread, or on its event loop.

In a plain test everything runs in the test's own thread, as code of Django and others expects: connections
and transactions of the test are the handler's too. In an async test an `async def` runs on the test's loop
and a `def` in a thread beside it, so that neither blocks the other.
"""

import asyncio
import functools
import inspect
from _thread import get_ident
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

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


class Errand(Generic[T]):
    """Work on the loop of another thread; once it is given up it is over, not only about to end."""

    def __init__(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[T] = Future()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def give_up(self) -> None:
        """Cancel the work, unless it has ended, and wait for its end."""
        if not self.outcome.done():
            self._loop.call_soon_threadsafe(self._cancel)
            wait([self.outcome])

    def _begin(self, work: Coroutine[Any, Any, T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.cancel()
            self.outcome.set_running_or_notify_cancel()  # for those that wait
        elif (error := task.exception()) is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class PlainStage:
    """Runs handlers in the thread that calls `run`."""

    def __init__(self, life: ProcessLife) -> None:
        self._runner: asyncio.Runner | None = None
        self._life = life

    def run(self, work: Work[T], loop: asyncio.AbstractEventLoop) -> T:
        """Do the work on `loop`, and meanwhile what it posts, here."""
        posted: SimpleQueue[InlineAttempt | None] = SimpleQueue()
        errand = Errand(work(posted.put), loop)
        errand.outcome.add_done_callback(lambda _: posted.put(None))
        try:
            while (attempt := posted.get()) is not None:
                self._perform(attempt)
            return errand.outcome.result()
        finally:
            errand.give_up()

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

    errand = Errand(work(post), loop)
    future = asyncio.wrap_future(errand.outcome)
    future.add_done_callback(lambda _: posted.put_nowait(None))
    is_given_up = False

    async def perform_one(attempt: InlineAttempt) -> None:
        report = await _perform_in_loop(attempt, life)
        if not is_given_up:  # how a handler ends then is not its doing, and not to be kept
            attempt.channel.send(ReportMessage(report))

    try:
        async with asyncio.TaskGroup() as tasks:
            try:
                while (attempt := await posted.get()) is not None:
                    tasks.create_task(perform_one(attempt))
            except asyncio.CancelledError:
                is_given_up = True
                raise
        return await future
    finally:
        if not errand.outcome.done():
            await asyncio.to_thread(errand.give_up)


async def _perform_in_loop(attempt: InlineAttempt, life: LoopLife) -> HandlerReport:
    is_on_stage.set(True)
    channel, given = attempt.channel, attempt.handler
    current_channel.set(channel)
    if (failed := await life.start_in_loop(attempt.assignment)) is not None:
        return failed
    hooks = {name: _beside_the_loop(channel, hook) for name, hook in given.hooks.items()}
    handler = Handler(_beside_the_loop(channel, given.run), given.decode, hooks)
    return await perform_in_loop(channel, attempt.assignment, lambda: _OneHandler(handler))


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
    task = channel.task = asyncio.ensure_future(awaitable)
    forget = channel.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        forget()


def _close_unused(calling: asyncio.Future[tuple[Any, BaseException | None]]) -> None:
    """Close what an `async def` behind a plain function returned too late to be awaited."""
    if not calling.cancelled() and inspect.iscoroutine(result := calling.result()[0]):
        result.close()


def _beside_the_loop(channel: InlineChannel, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, called in a thread unless it is an `async def`."""

    def call(*arguments: Any) -> tuple[Any, BaseException | None]:
        channel.own_thread = get_ident()
        try:
            return function(*arguments), None
        except BaseException as error:  # a StopIteration would never leave the thread's future
            return None, error

    @functools.wraps(function)
    async def called(*arguments: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await _until_cancelled(channel, function(*arguments))
        calling = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
        try:
            result, error = await asyncio.shield(calling)
        except asyncio.CancelledError:
            calling.add_done_callback(_close_unused)
            raise
        if error is not None:
            raise error
        # An `async def` that takes less than a handler is given stands behind a plain function.
        return await _until_cancelled(channel, result) if hasattr(result, "__await__") else result

    return called
