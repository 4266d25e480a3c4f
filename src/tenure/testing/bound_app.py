"""An app on a temporary store: what a test asks of it, and asserts, in plain and in async code alike.

These calls block, which is no harm in an event loop: the store is in another thread, and they take a moment.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from tenure.api.inputs import duration as written_duration
from tenure.api.job_options import Duration, duration
from tenure.core.errors import InvalidInput, TenureError, UnknownDefinition
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.values.bounds import CALENDAR, HORIZON, whole, within
from tenure.core.values.other_words import answering_other_words
from tenure.execution.handler.log_capture import LogCapture
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.handle import JobHandle
from tenure.testing.bound_runtime import BoundRuntime, HarnessStore
from tenure.testing.enqueued import ANYTHING, Wanted
from tenure.testing.harness_jobs import HarnessJob, jobs_of
from tenure.testing.inline_worker import InlineWorker
from tenure.testing.stages import current_channel
from tenure.testing.stand_ins import Ordered, StandIns

T = TypeVar("T")
Which = JobDefinition[Any, Any] | str
"""A definition: the decorated function, or its key."""

_MOST_TIMES = 10_000


@answering_other_words
class BoundApp:
    """An app whose jobs are in a temporary SQLite file, from `open` to `close`."""

    def __init__(self, app: Tenure, slots: int, at: datetime | None) -> None:
        self.app = app
        self._registry = app._registry  # the library's own, as the definitions have it
        self._runtimes = app._runtimes
        if isinstance(self._runtimes.here(), BoundRuntime):
            raise TenureError("the app is in a harness already: leave that one first")
        self._folder = Path(tempfile.mkdtemp(prefix="tenure-harness-"))
        self._runtime = BoundRuntime(self._folder / "jobs.db", self._registry, at or datetime.now(UTC))
        self._stand_ins = StandIns(self._registry)
        self._worker = InlineWorker(self._runtime, self._registry, self._stand_ins, slots)
        self._logging = LogCapture(current_channel.get, replaces_output=False)
        self._before = self._runtimes.exchange(self._runtime.address, {os.getpid(): self._runtime})

    def open(self) -> None:
        """Make the store ready."""
        self._logging.install()
        try:
            asyncio.run_coroutine_threadsafe(self._worker.register(), self._runtime.loop()).result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the app its own database back, and delete the temporary one."""
        self._logging.remove()
        self._runtimes.exchange(*self._before)
        try:
            self._runtime.end()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def now(self) -> datetime:
        """The time in the store, which stands still but for `advance`."""
        return self._ask(lambda at: at.store.now())

    def jobs(
        self, definition: Which | None = None, *, state: State | str | Collection[State | str] = ()
    ) -> list[HarnessJob]:
        """The jobs, the oldest first: of a definition, in a state or in one of several."""
        spec = None if definition is None else self._spec(definition)
        return self._jobs(spec, states=_states(state))

    def job(self, job: JobHandle[Any] | HarnessJob | UUID) -> HarnessJob:
        """One job, as it is now."""
        found = [one for one in self.jobs() if one.id == _id(job)]
        if not found:
            raise InvalidInput("job", f"{_id(job)} is not in this harness", "enqueue it within the harness")
        return found[0]

    def cancel(self, job: JobHandle[Any] | HarnessJob | UUID) -> State:
        """Cancel a job, also while it runs; returns its new state."""
        return self._ask(lambda at: self._cancel(at, _id(job)))

    def fail_next(self, definition: Which, error: Ordered = RuntimeError, *, times: int = 1) -> None:
        """Have the next attempt of a definition, or several, raise this instead of calling the handler."""
        whole("times", times, 1, _MOST_TIMES)
        self._stand_ins.fail_next(self._spec(definition), error, times)

    def replace(self, definition: Which, function: Callable[..., Any]) -> None:
        """Have a function, which takes what a handler may take, run in place of a handler or a program."""
        self._stand_ins.replace(self._spec(definition), function)

    def assert_enqueued(
        self,
        definition: Which,
        params: object = ANYTHING,
        *,
        queue: str | None = None,
        times: int | None = None,
    ) -> list[HarnessJob]:
        """Assert that such a job was enqueued, or `times` of them; returns them, the oldest first.

        What became of the jobs since does not matter. Params fit if a handler would see no difference.
        """
        if times is not None:
            whole("times", times, 0, _MOST_TIMES)
        wanted = self._wanted(definition, params, queue)
        jobs = self._jobs()
        found = [job for job in jobs if wanted.fits(job)]
        if not found if times is None else len(found) != times:
            raise AssertionError(wanted.missed(jobs, len(found), times))
        return found

    def assert_not_enqueued(
        self, definition: Which, params: object = ANYTHING, *, queue: str | None = None
    ) -> None:
        """Assert that no such job was enqueued."""
        self.assert_enqueued(definition, params, queue=queue, times=0)

    def _wanted(self, definition: Which, params: object, queue: str | None) -> Wanted:
        return Wanted.of(self._registry, self._spec(definition), params, queue)

    def _jobs(self, spec: Spec | None = None, states: frozenset[State] = frozenset()) -> list[HarnessJob]:
        which = Filter(states=states)
        if spec is not None:
            which = Filter(definition=spec.key, version=spec.version, states=states)
        return self._ask(lambda at: jobs_of(at.store, which))

    async def _cancel(self, at: HarnessStore, job: UUID) -> State:
        standing = await at.client.cancel(job, actor="test")
        await self._worker.beat()
        return standing.state

    def _spec(self, definition: Which) -> Spec:
        self._runtime.refuse_after_end()
        if isinstance(definition, str):
            found = self._registry.find(definition)
            if found is None:
                raise UnknownDefinition(definition, None, "name one of the app's own")
            return found
        if not isinstance(definition, JobDefinition):
            raise InvalidInput("definition", f"is {definition!r:.64}", "give a job's function, or its key")
        if self._registry.find(definition.key, definition.version) is not definition.spec:
            raise InvalidInput(
                "definition", f"{definition.key} is of another app", "put that in a harness too"
            )
        return definition.spec

    def _ask(self, question: Callable[[HarnessStore], Coroutine[Any, Any, T]]) -> T:
        async def asked() -> T:
            return await question(await self._runtime.ready())

        loop = self._runtime.loop()
        return asyncio.run_coroutine_threadsafe(asked(), loop).result()


def span_of(by: Duration | str) -> timedelta:
    """How far to advance: a text such as "1h", seconds, or a timedelta."""
    span = written_duration(by) if isinstance(by, str) else duration("by", by)
    within("by", span, timedelta(0), HORIZON)
    return span


def start_time(at: datetime | None) -> datetime | None:
    """Check the time at which a harness is to begin."""
    if at is not None:
        if at.utcoffset() is None:
            raise InvalidInput("at", "has no time zone", "give an aware datetime")
        within("at", at, *CALENDAR)
    return at


def _states(given: State | str | Collection[State | str]) -> frozenset[State]:
    texts = [given] if isinstance(given, str) else given
    try:
        return frozenset(State(text) for text in texts)
    except ValueError:
        raise InvalidInput("state", f"is {given!r:.64}", f"give one of {', '.join(State)}") from None


def _id(job: JobHandle[Any] | HarnessJob | UUID) -> UUID:
    return job if isinstance(job, UUID) else job.id
