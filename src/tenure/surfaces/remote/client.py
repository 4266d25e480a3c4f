"""`Client` and `AsyncClient`: use a Tenure server from Python."""

from types import TracebackType
from typing import Self

from tenure.api.job_options import Duration, duration
from tenure.core.errors import InvalidInput
from tenure.surfaces.remote import job_list, step_list, streams, verbs
from tenure.surfaces.remote.async_wire import AsyncWire, awaiting, following
from tenure.surfaces.remote.sync_wire import SyncWire, blocking, iterating
from tenure.surfaces.remote.transport import ServerAddress
from tenure.surfaces.remote.wire import WireTimeouts

USUAL_TIMEOUT = 30.0


class Client:
    """A client of a Tenure server, for plain synchronous code; threads may share one.

    It repeats a request for up to `timeout` while the server does not answer or has no room; what the request
    asks for happens once. `key` is what `tenure keys create` printed: reading needs the scope `read`, all
    else `operate`.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: Duration = USUAL_TIMEOUT) -> None:
        self._wire = SyncWire(ServerAddress(url, key), _timeouts(timeout))

    new_job = staticmethod(verbs.new_job)
    create = blocking(verbs.create)
    create_many = blocking(verbs.create_many)
    get = blocking(verbs.get)
    wait = blocking(verbs.wait)
    why = blocking(verbs.why)
    list = iterating(job_list.jobs)
    cancel = blocking(verbs.cancel)
    release = blocking(verbs.release)
    give_up = blocking(verbs.give_up)
    reschedule = blocking(verbs.reschedule)
    run_now = blocking(verbs.run_now)
    put_back = blocking(verbs.put_back)
    replay = blocking(verbs.replay)
    signal = blocking(verbs.signal)
    answer = blocking(verbs.answer)
    steps = iterating(step_list.steps)
    events = iterating(streams.events)
    queues = blocking(verbs.queues)
    workers = blocking(verbs.workers)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r})"


class AsyncClient:
    """The same for asynchronous code; it belongs to the event loop that uses it."""

    def __init__(self, url: str, key: str | None = None, *, timeout: Duration = USUAL_TIMEOUT) -> None:
        self._wire = AsyncWire(ServerAddress(url, key), _timeouts(timeout))

    new_job = staticmethod(verbs.new_job)
    create = awaiting(verbs.create)
    create_many = awaiting(verbs.create_many)
    get = awaiting(verbs.get)
    wait = awaiting(verbs.wait)
    why = awaiting(verbs.why)
    list = following(job_list.jobs)
    cancel = awaiting(verbs.cancel)
    release = awaiting(verbs.release)
    give_up = awaiting(verbs.give_up)
    reschedule = awaiting(verbs.reschedule)
    run_now = awaiting(verbs.run_now)
    put_back = awaiting(verbs.put_back)
    replay = awaiting(verbs.replay)
    signal = awaiting(verbs.signal)
    answer = awaiting(verbs.answer)
    steps = following(step_list.steps)
    events = following(streams.events)
    queues = awaiting(verbs.queues)
    workers = awaiting(verbs.workers)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._wire.url!r})"


def _timeouts(timeout: Duration) -> WireTimeouts:
    seconds = duration("timeout", timeout).total_seconds()
    if seconds <= 0:
        raise InvalidInput("timeout", f"is {seconds} seconds", "give more than 0")
    return WireTimeouts(seconds)
