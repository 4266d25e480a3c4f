"""The wire for plain synchronous code: it blocks, so a coroutine that waits on it is never suspended."""

import functools
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import httpx

from tenure.surfaces.remote.transport import ServerAddress, bounded
from tenure.surfaces.remote.wire import Wire, WireAnswer, WireRequest, WireTimeouts, connection_error

P = ParamSpec("P")
T = TypeVar("T")


class SyncWire:
    """Sends requests by httpx.Client; a forked process gets a new one."""

    def __init__(self, server: ServerAddress, timeouts: WireTimeouts) -> None:
        self.url = server.url
        self.timeouts = timeouts
        self._server = server
        self._http: httpx.Client | None = None
        self._process = 0

    @asynccontextmanager
    async def ask(
        self, request: WireRequest, seconds: float, read_timeout: float | None = None
    ) -> AsyncIterator[WireAnswer]:
        """Send a request once."""
        timeouts = bounded(seconds)
        try:
            with self._client().stream(**self._server.request_arguments(request, timeouts)) as answer:
                timeouts["read"] = read_timeout or seconds
                yield WireAnswer(answer.status_code, answer.headers, _one_by_one(answer.iter_raw()))
        except httpx.TransportError as error:
            raise connection_error(self.url, error) from None

    async def pause(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)  # noqa: ASYNC251

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        http, self._http = self._http, None
        if http is not None and self._process == os.getpid():
            http.close()

    def _client(self) -> httpx.Client:
        if self._http is None or self._process != os.getpid():
            # Parent and child must not read from one connection: each would get the other's answers.
            self._http = httpx.Client(**self._server.client_options())
            self._process = os.getpid()
        return self._http


class HasSyncWire(Protocol):
    """A client whose methods block."""

    _wire: SyncWire


S = TypeVar("S", bound=HasSyncWire)


def blocking(verb: Callable[Concatenate[Wire, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """Make a verb a method that blocks until the answer is there."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return _now(verb(self._wire, *args, **kwargs))

    return method


def iterating(
    verb: Callable[Concatenate[Wire, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[S, P], Iterator[T]]:
    """Make a verb a method that returns an iterator."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _each(verb(self._wire, *args, **kwargs))

    return method


def _now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits on nothing but a blocking wire, and return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a blocking wire has suspended its caller")


def _each(items: AsyncGenerator[T, None]) -> Iterator[T]:
    async def next_item() -> list[T]:
        async for item in items:
            return [item]
        return []

    try:
        while found := _now(next_item()):
            yield from found
    finally:
        _now(items.aclose())


async def _one_by_one(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
