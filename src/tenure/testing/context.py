"""A context for unit tests of one handler: it remembers what the handler does with it.

It is the real `Context`, and so refuses what that refuses; only what receives its messages differs.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Progress
from tenure.core.values.bounds import whole
from tenure.execution.handler.context import Context, Maker
from tenure.execution.protocol.assignment import Assignment
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.definition import JobDefinition
from tenure.testing.kept_progress import KeptProgress, RecordedCalls
from tenure.testing.recorder import Child, EmittedEvent, LogCall, Measurement, Recorder, RecordingChannel


class RecordingContext(Context):
    """One attempt that a test has made up; `tenure.testing` calls it `Context`.

    `params` are what the handler sees as `ctx.params`. With `app`, jobs that the handler makes by `new_job`
    are checked by their definitions; those that it names by their function always are. `state` is what the
    last checkpoint holds, `signals` are those that the job was sent, by name. A sleep takes no time.
    """

    def __init__(
        self,
        params: Any = None,
        *,
        attempt: int = 1,
        cancelled: bool = False,
        job_id: UUID | None = None,
        fence: int = 1,
        definition: str = "test",
        version: int = 1,
        queue: str = "default",
        namespace: str = "default",
        traceparent: str | None = None,
        app: Tenure | None = None,
        state: Mapping[str, Any] | None = None,
        signals: Mapping[str, Any] | None = None,
    ) -> None:
        whole("attempt", attempt, 1, 2**31 - 1)
        whole("fence", fence, 1, 2**63 - 1)
        if job_id is not None and not isinstance(job_id, UUID):
            raise InvalidInput("job_id", f"is {job_id!r:.64}", "give a UUID")
        made_up = Assignment(
            job=job_id or uuid4(),
            fence=fence,
            attempt=attempt,
            definition=definition,
            version=version,
            queue=queue,
            namespace=namespace,
            traceparent=traceparent,
        )
        self._recorder = Recorder(None if app is None else app._registry)
        self._app = app
        self._kept = KeptProgress(state, signals)
        self._recording = RecordingChannel(self._recorder, self._kept)
        super().__init__(self._recording, made_up, params)
        if cancelled:
            self.cancel()

    @property
    def logged(self) -> list[LogCall]:
        """What the handler has logged."""
        return self._recorder.logged

    @property
    def emitted(self) -> list[EmittedEvent]:
        """The events that it has emitted."""
        return self._recorder.emitted

    @property
    def reported(self) -> list[Progress]:
        """The progress that it has reported, all of it; a job keeps the last."""
        return self._recorder.reported

    @property
    def children(self) -> list[Child]:
        """The jobs that it has enqueued."""
        return self._recorder.children

    @property
    def measured(self) -> list[Measurement]:
        """What it has measured."""
        return self._recorder.measured

    @property
    def steps(self) -> dict[str, Any]:
        """The results of the steps that it has kept, by name."""
        return self._kept.results

    @property
    def saved(self) -> Any:
        """The state that it has kept last."""
        return self._kept.state

    @property
    def slept(self) -> list[timedelta]:
        """How long it has slept, each time."""
        return self._kept.slept

    def again(self) -> "RecordingContext":
        """The next attempt of the same job: it finds what this one has kept."""
        found = RecordingContext(
            self.params,
            attempt=self.attempt + 1,
            job_id=self.job_id,
            fence=self.fence + 1,
            definition=self.definition,
            version=self.version,
            queue=self.queue,
            namespace=self.namespace,
            traceparent=self.traceparent,
            app=self._app,
        )
        found._kept = found._recording.kept = self._kept
        return found

    def cancel(self) -> None:
        """Ask the handler to stop: `ctx.cancelled` is true from now on."""
        self._recording.cancel()

    def _durable(self) -> RecordedCalls:
        if not isinstance(self._calls, RecordedCalls):
            self._calls = RecordedCalls(self._channel, self.fence, self._thread)
            self._calls.kept = self._kept
        return self._calls

    def _made(self, job: NewJob | Maker[Any], params: object, options: dict[str, Any]) -> NewJob:
        """Learn where the definition of a child is."""
        if isinstance(job, JobDefinition):
            self._recorder.registries[job.key, job.version] = job._registry
        return super()._made(job, params, options)
