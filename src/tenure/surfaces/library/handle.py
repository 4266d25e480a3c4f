"""A handle on one job: ask for its state, wait for it, stop it."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID

from tenure.api.job_options import Duration, duration, new_time
from tenure.core.errors import InvalidInput
from tenure.core.model.durable import EffectAnswer, Signal
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.reports.why import Why
from tenure.core.values.documents import write
from tenure.core.values.other_words import answering_other_words, taking_nothing
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.sync_methods import sync_method

if TYPE_CHECKING:
    from tenure.surfaces.library.records import EventRecord, JobRecord, StepRecord

R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


@answering_other_words
class JobHandle(Generic[R_co]):
    """One job, by its id, with a result of type R. Nothing is cached: every call asks the store."""

    id: UUID
    """The id of the job. It never changes; `app.handle(id)` makes another handle from it."""

    def __init__(
        self,
        id: UUID,  # noqa: A002
        runtimes: Runtimes,
        returned_by: Callable[..., Any] | None = None,
    ) -> None:
        """`returned_by` is the function whose return type results have, if the caller knows it."""
        self.id = id
        self._runtimes = runtimes
        self._returned_by = returned_by

    @taking_nothing
    async def get(self) -> "JobRecord":
        """The whole record of the job; its params and result are plain values. Raises JobNotFound."""
        from tenure.surfaces.library.records import job_record

        return job_record(await self._job())

    async def status(self) -> State:
        """The state the job is in. Raises JobNotFound."""
        return (await self._job()).state

    async def wait(self, timeout: Duration | None = None) -> R_co:
        """Wait until the job has succeeded, and return what the handler returned.

        Raises JobFailed, JobCancelled or JobBuried if it ends otherwise, TimeoutError, which says why, if it
        does not end in time (the job goes on then), and ResultMismatch if the result is not of its type.
        """
        seconds = None if timeout is None else duration("timeout", timeout).total_seconds()
        ended = await self._runtimes.here().call(lambda client: client.wait(self.id, seconds, explains=True))
        return self._result_of(ended)

    async def why(self) -> Why:
        """Why the job does not run: a code, a sentence with the way out, and facts. Raises JobNotFound."""
        return await self._runtimes.here().call(lambda client: client.why(self.id))

    async def result(self) -> R_co:
        """What the handler returned, without waiting. Raises JobUnfinished until the job has ended."""
        return self._result_of(await self._job())

    async def cancel(self, reason: str | None = None) -> State:
        """Ask the job to stop, and return its new state. A job that has ended stays as it is.

        Raises JobIsAside if the database refuses to move it.
        """
        standing = await self._runtimes.here().call(
            lambda client: client.cancel(self.id, actor="library", reason=reason)
        )
        return standing.state

    async def accept(self) -> State:
        """Let a job run that was enqueued with `hold`, and return its new state."""
        standing = await self._runtimes.here().call(lambda client: client.accept(self.id))
        return standing.state

    async def reschedule(self, *, run_at: datetime | None = None, delay: Duration | None = None) -> State:
        """Move a job that waits for its time, or for another attempt, to `run_at`, or to `delay` from now.

        A time that has passed means now. Its attempts stay, and so does its state, which is returned. Raises
        JobNotWaiting if it waits for no time, JobIsAside if the database refuses to move it.
        """
        to = new_time(run_at, delay)
        standing = await self._runtimes.here().call(
            lambda client: client.reschedule(self.id, **to, actor="library")
        )
        return standing.state

    async def run_now(self) -> State:
        """Do not let a job wait for its time, or for another attempt, any longer; raises as `reschedule`."""
        return await self.reschedule(delay=0)

    async def put_back(self) -> State:
        """Let a job that was put aside continue, once it is repaired, and return its new state.

        Raises JobIsAside if the database still refuses to move it. A job that is not aside stays as it is.
        """
        standing = await self._runtimes.here().call(lambda client: client.aside_jobs.put_back(self.id))
        return standing.state

    async def signal(self, name: str, payload: object = None) -> State:
        """Tell the job something that its handler waits for, or will wait for, and return its new state.

        The first payload of a name stands; the same one again changes nothing. Raises SignalDiffers for
        another payload, JobEnded if the job has ended.
        """
        told = Signal(name=name, by="library", body=write(payload))
        done = await self._runtimes.here().call(lambda client: client.durable.signal(self.id, told))
        return done.state

    async def answer(self, effect: str, *, happened: bool, result: object = None) -> State:
        """Say whether an effect in doubt has happened, with its result if so, and return the job's new state.

        Raises NotInDoubt if there is no such effect, or it is not in doubt.
        """
        said = EffectAnswer(step=effect, happened=happened, by="library", result=write(result))
        done = await self._runtimes.here().call(lambda client: client.durable.answer(self.id, said))
        return done.state

    async def steps(self) -> "list[StepRecord]":
        """The steps that the job has kept, in the order in which they were first kept."""
        from tenure.surfaces.library.records import step_record

        kept = await self._runtimes.here().call(lambda client: client.durable.all_steps(self.id))
        return [step_record(step) for step in kept]

    async def events(self) -> "list[EventRecord]":
        """The history of the job, from its creation; payloads are plain values."""
        from tenure.surfaces.library.records import event_record

        return [event_record(one) for one in await self._runtimes.here().call(lambda on: on.events(self.id))]

    get_sync = sync_method(get)
    status_sync = sync_method(status)
    wait_sync = sync_method(wait)
    why_sync = sync_method(why)
    result_sync = sync_method(result)
    cancel_sync = sync_method(cancel)
    accept_sync = sync_method(accept)
    reschedule_sync = sync_method(reschedule)
    run_now_sync = sync_method(run_now)
    put_back_sync = sync_method(put_back)
    signal_sync = sync_method(signal)
    answer_sync = sync_method(answer)
    steps_sync = sync_method(steps)
    events_sync = sync_method(events)

    def __repr__(self) -> str:
        return f"JobHandle({str(self.id)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def _block_on(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runtimes.here().block_on(work)

    async def _job(self) -> Job:
        return await self._runtimes.here().call(lambda client: client.get(self.id))

    def _result_of(self, job: Job) -> R_co:
        from tenure.surfaces.library.results import typed_result

        registry = self._runtimes.registry
        function = self._returned_by or registry.function(job.definition, job.version)
        result: R_co = typed_result(job, function)
        return result


def id_of(job: UUID | str) -> UUID:
    """The id of a job, which may be written as a text. Raises InvalidInput."""
    try:
        return job if isinstance(job, UUID) else UUID(job)
    except ValueError:
        raise InvalidInput("job", f"is {job!r:.64}", "give the id of a job") from None
