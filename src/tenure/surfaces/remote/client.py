"""`Client` and `AsyncClient`: a Tenure server, as Python sees it from afar."""

from types import TracebackType
from typing import Self

from tenure.core.errors import InvalidInput
from tenure.surfaces.library.options import Duration, duration
from tenure.surfaces.remote import listing, streams, verbs
from tenure.surfaces.remote.awaiting import AwaitingWire, awaiting, following
from tenure.surfaces.remote.blocking import BlockingWire, blocking, iterating
from tenure.surfaces.remote.sending import Server
from tenure.surfaces.remote.wire import Terms

USUAL_TIMEOUT = 30.0


class Client:
    """A Tenure server, for plain synchronous code; threads may share one.

    Whatever is asked is asked again while nobody answers or the server has no room, for up to `timeout`, and
    it happens once. `key` is as `tenure keys create` showed it; who only looks needs the scope `read`, who
    does anything `operate`.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: Duration = USUAL_TIMEOUT) -> None:
        self._wire = BlockingWire(Server(url, key), _terms(timeout))

    new_job = staticmethod(verbs.new_job)
    create = blocking(verbs.create)
    create_many = blocking(verbs.create_many)
    get = blocking(verbs.get)
    wait = blocking(verbs.wait)
    list = iterating(listing.jobs)
    cancel = blocking(verbs.cancel)
    release = blocking(verbs.release)
    give_up = blocking(verbs.give_up)
    put_back = blocking(verbs.put_back)
    replay = blocking(verbs.replay)
    events = iterating(streams.events)
    queues = blocking(verbs.queues)
    workers = blocking(verbs.workers)

    def close(self) -> None:
        """Close the connections; a later call makes others."""
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
    """The same for asynchronous code: it belongs to the event loop in which it is used."""

    def __init__(self, url: str, key: str | None = None, *, timeout: Duration = USUAL_TIMEOUT) -> None:
        self._wire = AwaitingWire(Server(url, key), _terms(timeout))

    new_job = staticmethod(verbs.new_job)
    create = awaiting(verbs.create)
    create_many = awaiting(verbs.create_many)
    get = awaiting(verbs.get)
    wait = awaiting(verbs.wait)
    list = following(listing.jobs)
    cancel = awaiting(verbs.cancel)
    release = awaiting(verbs.release)
    give_up = awaiting(verbs.give_up)
    put_back = awaiting(verbs.put_back)
    replay = awaiting(verbs.replay)
    events = following(streams.events)
    queues = awaiting(verbs.queues)
    workers = awaiting(verbs.workers)

    async def close(self) -> None:
        """Close the connections; a later call makes others."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._wire.url!r})"


def _terms(timeout: Duration) -> Terms:
    seconds = duration("timeout", timeout).total_seconds()
    if seconds <= 0:
        raise InvalidInput("timeout", f"is {seconds} seconds", "give more than none")
    return Terms(seconds)
