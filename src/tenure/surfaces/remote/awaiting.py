"""The wire for asynchronous code, on the caller's own loop."""

import asyncio
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import httpx

from tenure.surfaces.remote.sending import Server, bounded
from tenure.surfaces.remote.wire import Answer, Request, Terms, Wire, cut

P = ParamSpec("P")
T = TypeVar("T")


class AwaitingWire:
    """A way to a server by httpx.AsyncClient, which belongs to the loop that uses it first."""

    def __init__(self, server: Server, terms: Terms) -> None:
        self.url = server.url
        self.terms = terms
        self._server = server
        self._http: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def ask(
        self, request: Request, seconds: float, silence: float | None = None
    ) -> AsyncIterator[Answer]:
        """Send a request once."""
        if self._http is None:
            self._http = httpx.AsyncClient(**self._server.manner())
        patience = bounded(seconds)
        try:
            async with self._http.stream(**self._server.words(request, patience)) as answer:
                patience["read"] = silence or seconds
                yield Answer(answer.status_code, answer.headers, answer.aiter_raw())
        except httpx.TransportError as error:
            raise cut(self.url, error) from None

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections; a later request makes others."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()


class Awaits(Protocol):
    """What has methods that are awaited."""

    _wire: AwaitingWire


S = TypeVar("S", bound=Awaits)


def awaiting(
    verb: Callable[Concatenate[Wire, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """A verb as a method that is awaited."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return verb(self._wire, *args, **kwargs)

    return method


def following(
    verb: Callable[Concatenate[Wire, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[S, P], AsyncGenerator[T, None]]:
    """A verb as a method that gives one thing after the other, each when it is there."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        return verb(self._wire, *args, **kwargs)

    return method
