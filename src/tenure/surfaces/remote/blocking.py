"""The wire for plain synchronous code: it blocks, so that what waits on it never has to be suspended."""

import functools
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import httpx

from tenure.surfaces.remote.sending import Server, bounded
from tenure.surfaces.remote.wire import Answer, Request, Terms, Wire, cut

P = ParamSpec("P")
T = TypeVar("T")


class BlockingWire:
    """A way to a server by httpx.Client, made anew in a process that was forked."""

    def __init__(self, server: Server, terms: Terms) -> None:
        self.url = server.url
        self.terms = terms
        self._server = server
        self._http: httpx.Client | None = None
        self._process = 0

    @asynccontextmanager
    async def ask(
        self, request: Request, seconds: float, silence: float | None = None
    ) -> AsyncIterator[Answer]:
        """Send a request once."""
        patience = bounded(seconds)
        try:
            with self._client().stream(**self._server.words(request, patience)) as answer:
                patience["read"] = silence or seconds
                yield Answer(answer.status_code, answer.headers, _one_by_one(answer.iter_raw()))
        except httpx.TransportError as error:
            raise cut(self.url, error) from None

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)  # noqa: ASYNC251

    def close(self) -> None:
        """Close the connections; a later request makes others."""
        http, self._http = self._http, None
        if http is not None and self._process == os.getpid():
            http.close()

    def _client(self) -> httpx.Client:
        if self._http is None or self._process != os.getpid():
            # The connections of a parent are its own: two who read from one would get each other's answers.
            self._http = httpx.Client(**self._server.manner())
            self._process = os.getpid()
        return self._http


class Blocks(Protocol):
    """What has methods that block."""

    _wire: BlockingWire


S = TypeVar("S", bound=Blocks)


def blocking(verb: Callable[Concatenate[Wire, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """A verb as a method that blocks until the answer is there."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return _now(verb(self._wire, *args, **kwargs))

    return method


def iterating(
    verb: Callable[Concatenate[Wire, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[S, P], Iterator[T]]:
    """A verb as a method that gives one thing after the other, each when it is there."""

    @functools.wraps(verb)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _each(verb(self._wire, *args, **kwargs))

    return method


def _now(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits on nothing but a wire that blocks."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a wire that blocks has suspended")


def _each(items: AsyncGenerator[T, None]) -> Iterator[T]:
    async def following() -> list[T]:
        async for item in items:
            return [item]
        return []

    try:
        while found := _now(following()):
            yield from found
    finally:
        _now(items.aclose())


async def _one_by_one(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
