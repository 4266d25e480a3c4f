"""What a client says and hears, as values; and what the two ways to carry it have in common.

Everything else in this package is written once, as coroutines that wait on a `Wire` only. Where that is an
asynchronous one they run on the caller's loop; the other one blocks and never suspends them (see `blocking`).
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
"""How long one try of a request may take, unless the server has more to do; it allows itself ten."""


class Request(Struct, frozen=True, kw_only=True):
    """What is asked of a server. Every one can be sent again: what it asks for happens once.

    `seconds` is how long a try may take.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    seconds: float = USUAL_SECONDS


class Answer(NamedTuple):
    """An answer that begins: its body comes in pieces."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Terms(Struct, frozen=True):
    """How patient a client is: seconds without an answer that counts, by which clock, with what luck."""

    timeout: float
    clock: Callable[[], float] = monotonic
    random: Callable[[], float] = random.random


class Again(Exception):
    """There is no answer that counts, and another try may bring one, `after` so many seconds at the earliest.

    `has_arrived` says that the server may have done it. `error` is what to raise when there is no time left,
    if that is anything but Unreachable.
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
    """A way to a server."""

    @property
    def url(self) -> str:
        """Where it leads."""

    @property
    def terms(self) -> Terms:
        """How patient to be."""

    def ask(
        self, request: Request, seconds: float, silence: float | None = None
    ) -> AbstractAsyncContextManager[Answer]:
        """Send a request once; in the block the answer is read. Raises Again when the connection fails.

        `seconds` is for how long nothing may come at a time until the answer begins, and `silence` after
        that, if it is another. Raises Untrusted when who is there is not to be spoken to.
        """

    async def pause(self, seconds: float) -> None:
        """Let time pass."""


_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


_CUT = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def cut(url: str, error: httpx.TransportError) -> Exception:
    """What a failure of the connection means for the request: Again, or Untrusted."""
    words = " ".join([type(error).__name__, *str(error).split()])
    if isinstance(error, httpx.ConnectError) and _is_distrust(error):
        return Untrusted(url, words.removeprefix("ConnectError "))
    return Again(words, has_arrived=not isinstance(error, _NEVER_ARRIVED))


def _is_distrust(error: BaseException | None) -> bool:
    """Whether encryption was not agreed upon, which another try will not change."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error is not None and not isinstance(error, _CUT)
