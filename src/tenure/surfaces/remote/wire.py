"""Requests and answers as values, and what the synchronous and the asynchronous wire have in common.

Everything else in this package is written once, as coroutines that wait on a `Wire` only. With the
asynchronous wire they run on the caller's loop; the other one blocks and never suspends them (`sync_wire`).
"""

import random
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import NamedTuple, Protocol

import httpx
from msgspec import Struct

from tenure.surfaces.remote.errors import RemoteError, Untrusted

USUAL_SECONDS = 15.0
"""Seconds that one try may take, unless the request needs more; the server's own limit is ten."""


class WireRequest(Struct, frozen=True, kw_only=True):
    """A request. Each can be sent again: what it asks for happens once.

    `seconds` is how long one try may take.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    seconds: float = USUAL_SECONDS


class WireAnswer(NamedTuple):
    """An answer that has begun; its body arrives in pieces."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class WireReply(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WireTimeouts(Struct, frozen=True):
    """How long a client goes on without a final answer, in seconds; with its clock and its random numbers."""

    timeout: float
    clock: Callable[[], float] = monotonic
    random: Callable[[], float] = random.random


class TryAgain(Exception):
    """There is no final answer yet; another try, `after` so many seconds or more, may bring one.

    `has_arrived` says that the server may have done it. `error` is what to raise when no time is left; the
    default is Unreachable.
    """

    def __init__(
        self,
        reason: str,
        *,
        has_arrived: bool = True,
        after: float = 0.0,
        error: RemoteError | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.has_arrived = has_arrived
        self.after = after
        self.error = error


class Wire(Protocol):
    """Sends requests to one server."""

    @property
    def url(self) -> str:
        """The address of the server."""

    @property
    def timeouts(self) -> WireTimeouts:
        """How long to go on without an answer."""

    def ask(
        self, request: WireRequest, seconds: float, read_timeout: float | None = None
    ) -> AbstractAsyncContextManager[WireAnswer]:
        """Send a request once; the block reads the answer. Raises TryAgain if the connection fails.

        `seconds` limits each wait until the answer begins; `read_timeout`, if given, each wait after that.
        Raises Untrusted if the TLS handshake fails.
        """

    async def pause(self, seconds: float) -> None:
        """Sleep."""


_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


_CUT = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def connection_error(url: str, error: httpx.TransportError) -> Exception:
    """The error that a failed connection means: TryAgain or Untrusted."""
    words = " ".join([type(error).__name__, *str(error).split()])
    if isinstance(error, httpx.ConnectError) and _is_distrust(error):
        return Untrusted(url, words.removeprefix("ConnectError "))
    return TryAgain(words, has_arrived=not isinstance(error, _NEVER_ARRIVED))


def _is_distrust(error: BaseException | None) -> bool:
    """Whether the TLS handshake failed for good, so that another try would fail as well."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None and not isinstance(error, _CUT)
