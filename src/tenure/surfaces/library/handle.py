"""A hold on one job: ask where it stands, wait for it, stop it."""

from collections.abc import Coroutine
from typing import Any, TypeVar
from uuid import UUID

from tenure.core.job import Event, Job
from tenure.core.states import State
from tenure.engine.results import result_of
from tenure.surfaces.library.blocking import blocking
from tenure.surfaces.library.options import Duration, duration
from tenure.surfaces.library.runtimes import Runtimes

T = TypeVar("T")


class JobHandle:
    """One job, by its id. Nothing is remembered: every question is asked of the store."""

    def __init__(self, id: UUID, runtimes: Runtimes) -> None:  # noqa: A002
        self.id = id
        self._runtimes = runtimes

    async def get(self) -> Job:
        """Everything on record of the job. Raises JobNotFound."""
        return await self._runtimes.here().call(lambda client: client.get(self.id))

    async def status(self) -> State:
        """The state the job is in. Raises JobNotFound."""
        return (await self.get()).state

    async def wait(self, timeout: Duration | None = None) -> Any:
        """What the handler returned, once the job has succeeded.

        Raises JobFailed, JobCancelled or JobBuried when it ended otherwise, and TimeoutError when it has not
        ended in time; the job goes on then.
        """
        patience = None if timeout is None else duration("timeout", timeout).total_seconds()
        return result_of(await self._runtimes.here().call(lambda client: client.wait(self.id, patience)))

    async def result(self) -> Any:
        """What the handler returned, without waiting. Raises JobUnfinished while there is no outcome."""
        return result_of(await self.get())

    async def cancel(self, reason: str | None = None) -> State:
        """Ask the job to stop; answers with its state then. One that has ended stays as it is.

        Raises JobIsAside when the database refuses to move it.
        """
        standing = await self._runtimes.here().call(
            lambda client: client.cancel(self.id, actor="library", reason=reason)
        )
        return standing.state

    async def accept(self) -> State:
        """Let a job go that was enqueued with `hold`; answers with its state then."""
        standing = await self._runtimes.here().call(lambda client: client.accept(self.id))
        return standing.state

    async def put_back(self) -> State:
        """Let a job go on that was put aside, once it is mended; answers with its state then.

        Raises JobIsAside when the database still refuses to move it. One that is not aside stays as it is.
        """
        standing = await self._runtimes.here().call(lambda client: client.mending.put_back(self.id))
        return standing.state

    async def events(self) -> list[Event]:
        """The history of the job, from its creation on."""
        return await self._runtimes.here().call(lambda client: client.events(self.id))

    get_sync = blocking(get)
    status_sync = blocking(status)
    wait_sync = blocking(wait)
    result_sync = blocking(result)
    cancel_sync = blocking(cancel)
    accept_sync = blocking(accept)
    put_back_sync = blocking(put_back)
    events_sync = blocking(events)

    def __repr__(self) -> str:
        return f"JobHandle({str(self.id)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def _block_on(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runtimes.here().block_on(work)
