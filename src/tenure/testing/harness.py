"""The harness: runs the jobs of an app inside a test, on a real store, with a clock that the test moves."""

import asyncio
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from tenure.api.job_options import Duration, Options
from tenure.core.errors import TenureError
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.execution.child.process_life import ProcessLife
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.handle import JobHandle
from tenure.testing.bound_app import BoundApp, Which, span_of, start_time
from tenure.testing.shift import MOST_ROUNDS
from tenure.testing.stages import LoopLife, PlainStage, Work, is_on_stage, raise_first, run_on_this_loop

D = TypeVar("D")
R = TypeVar("R")


class Harness(BoundApp):
    """The harness of a plain test: handlers run in the test's own thread."""

    def __init__(self, app: Tenure, slots: int, at: datetime | None) -> None:
        super().__init__(app, slots, at)
        self._stage = PlainStage(ProcessLife(lambda: app))

    @overload
    def enqueue(
        self, definition: str, params: object = None, **options: Unpack[Options]
    ) -> JobHandle[Any]: ...
    @overload
    def enqueue(
        self, definition: JobDefinition[None, R], params: None = None, **options: Unpack[Options]
    ) -> JobHandle[R]: ...
    @overload
    def enqueue(
        self, definition: JobDefinition[D, R], params: D, **options: Unpack[Options]
    ) -> JobHandle[R]: ...
    def enqueue(self, definition: Which, params: Any = None, **options: Unpack[Options]) -> JobHandle[Any]:
        """Record a job, as the app would."""
        self._spec(definition)
        if isinstance(definition, str):
            return self.app.enqueue_sync(definition, params, **options)
        return definition.enqueue_sync(params, **options)

    def drain(self, *, rounds: int = MOST_ROUNDS) -> int:
        """Run jobs until none is ready; returns how many attempts that took.

        Raises Endless after so many rounds.
        """
        whole("rounds", rounds, 1, MOST_ROUNDS)
        return self._stage.run(lambda post: self._worker.drain(post, rounds), self._loop())

    def advance(self, by: Duration | str) -> int:
        """Let time pass, as in `advance("1h")`, and run what becomes ready, each job at its own time.

        Returns how many attempts that took.
        """
        span = span_of(by)
        return self._stage.run(lambda post: self._worker.advance(post, span), self._loop())

    def close(self) -> None:
        """Give the app its own database back, and delete the temporary one."""
        try:
            self._stage.close()
        finally:
            super().close()

    def _loop(self) -> asyncio.AbstractEventLoop:
        _refuse_on_stage()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._runtime.loop()
        raise TenureError(
            "an event loop is running: use `async with harness(app)`, and await drain and advance"
        )


class AsyncHarness(BoundApp):
    """The harness of an async test: an `async def` runs on the test's own loop, a `def` in a thread."""

    def __init__(self, app: Tenure, slots: int, at: datetime | None) -> None:
        super().__init__(app, slots, at)
        self._life = LoopLife(lambda: app)

    @overload
    async def enqueue(
        self, definition: str, params: object = None, **options: Unpack[Options]
    ) -> JobHandle[Any]: ...
    @overload
    async def enqueue(
        self, definition: JobDefinition[None, R], params: None = None, **options: Unpack[Options]
    ) -> JobHandle[R]: ...
    @overload
    async def enqueue(
        self, definition: JobDefinition[D, R], params: D, **options: Unpack[Options]
    ) -> JobHandle[R]: ...
    async def enqueue(
        self, definition: Which, params: Any = None, **options: Unpack[Options]
    ) -> JobHandle[Any]:
        """Record a job, as the app would."""
        self._spec(definition)
        if isinstance(definition, str):
            return await self.app.enqueue(definition, params, **options)
        return await definition.enqueue(params, **options)

    async def drain(self, *, rounds: int = MOST_ROUNDS) -> int:
        """Run jobs until none is ready; returns how many attempts that took.

        Raises Endless after so many rounds.
        """
        whole("rounds", rounds, 1, MOST_ROUNDS)
        _refuse_on_stage()
        return await self._run(lambda post: self._worker.drain(post, rounds))

    async def advance(self, by: Duration | str) -> int:
        """Let time pass, as in `advance("1h")`, and run what becomes ready, each job at its own time.

        Returns how many attempts that took.
        """
        span = span_of(by)
        _refuse_on_stage()
        return await self._run(lambda post: self._worker.advance(post, span))

    async def _end_process(self) -> None:
        """Run the app's stop hooks, as at the end of a process."""
        raise_first(await self._life.stop_in_loop())

    async def _run(self, work: Work[int]) -> int:
        return await run_on_this_loop(work, self._runtime.loop(), self._life)


class HarnessScope:
    """A harness for the time of a block, `with` or `async with`."""

    def __init__(self, app: Tenure, slots: int, at: datetime | None) -> None:
        self._given = app, slots, at
        self._entered: Harness | AsyncHarness | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            text = "it is not entered: write `with harness(app) as t`, or `async with` in an async test"
            raise AttributeError(f"the harness has no attribute {name!r}: {text}", name=name, obj=self)

    def __enter__(self) -> Harness:
        self._entered = entered = Harness(*self._given)
        entered.open()
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            self._entered.close()

    async def __aenter__(self) -> AsyncHarness:
        self._entered = entered = AsyncHarness(*self._given)
        await asyncio.to_thread(entered.open)
        return entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._entered, AsyncHarness):
            try:
                await self._entered._end_process()
            finally:
                await asyncio.to_thread(self._entered.close)


def harness(app: Tenure, *, slots: int = 1, at: datetime | None = None) -> HarnessScope:
    """Put an app into a harness: `with harness(app) as t`, or `async with` in an async test.

    Until the end of the block, every call of the app and of its definitions uses a temporary SQLite file, and
    jobs run when the test says so. `slots` is how many jobs are claimed together; in an async test they run
    at once. The clock begins at `at`, else at the present time.
    """
    if not isinstance(app, Tenure):
        raise TypeError(f"harness() takes an app, a Tenure, not {app!r:.64}")
    whole("slots", slots, 1, LARGEST_BATCH)
    return HarnessScope(app, slots, start_time(at))


def _refuse_on_stage() -> None:
    if is_on_stage.get():
        raise TenureError("a handler cannot drain or advance the harness that runs it")
