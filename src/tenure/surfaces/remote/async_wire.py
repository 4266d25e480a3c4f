"""The wire for asynchronous code, on the caller's event loop."""

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import httpx

from tenure.surfaces.remote.transport import ServerAddress, bounded
from tenure.surfaces.remote.wire import Wire, WireAnswer, WireRequest, WireTimeouts, connection_error

P = ParamSpec("P")
T = TypeVar("T")


class AsyncWire:
    """Sends requests by httpx.AsyncClient, which belongs to the loop that uses it first."""

    def __init__(self, server: ServerAddress, timeouts: WireTimeouts) -> None:
        self.url = server.url
        self.timeouts = timeouts
        self._server = server
        self._http: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def ask(
        self, request: WireRequest, seconds: float, read_timeout: float | None = None
    ) -> AsyncIterator[WireAnswer]:
        """Send a request once."""
        if self._http is None:
            self._http = httpx.AsyncClient(**self._server.client_options())
        timeouts = bounded(seconds)
        try:
            async with self._http.stream(**self._server.request_arguments(request, timeouts)) as answer:
                timeouts["read"] = read_timeout or seconds
                yield WireAnswer(answer.status_code, answer.headers, answer.aiter_raw())
        except httpx.TransportError as error:
            raise connection_error(self.url, error) from None

    async def pause(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()


class HasAsyncWire(Protocol):
    """A client whose methods are awaited."""

    _wire: AsyncWire


S = TypeVar("S", bound=HasAsyncWire)


def awaiting(
    verb: Callable[Concatenate[Wire, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a verb a method that is awaited."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return verb(self._wire, *args, **kwargs)

    return method


def following(
    verb: Callable[Concatenate[Wire, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[S, P], AsyncGenerator[T, None]]:
    """Make a verb a method that returns an asynchronous iterator."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        return verb(self._wire, *args, **kwargs)

    return method
