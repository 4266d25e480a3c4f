"""Sends a request until there is a final answer: decides which answers are final, and when to try again."""

import re
from typing import TypeVar

import msgspec

from tenure.api.problem import Problem
from tenure.surfaces.remote.errors import (
    BY_STATUS,
    Conflict,
    Refused,
    RemoteError,
    TooMany,
    UnexpectedAnswer,
    Unreachable,
)
from tenure.surfaces.remote.wire import TryAgain, Wire, WireAnswer, WireReply, WireRequest, WireTimeouts

T = TypeVar("T")

LARGEST_ANSWER = 16 * 2**20
"""Bytes; no answer of a Tenure server is larger."""

_SHORTEST, _LONGEST = 0.1, 2.0
"""Seconds before the first retry, and the most before any."""

_AWAY = frozenset({408, 502, 503, 504})
"""Statuses of a server that is not available at the moment, or of a proxy in front of it."""

_WHOLE = re.compile(r"[0-9]{1,9}")


class RetryBudget:
    """How long to go on trying, counted from now or from the last sign of the server."""

    def __init__(self, wire: Wire, *, until: float | None = None, changes: bool = False) -> None:
        """`until` is when it ends at the latest; `changes` says that the request changes something."""
        self._url = wire.url
        self._timeouts: WireTimeouts = wire.timeouts
        self._until = until
        self._changes = changes
        self._tries = 0
        self.in_doubt = False
        """Whether a try without an answer may have changed something."""
        self.renew()

    def renew(self) -> None:
        """The server gave a sign of life: count from now."""
        self._deadline = self._timeouts.clock() + self._timeouts.timeout
        if self._until is not None:
            self._deadline = min(self._deadline, self._until)

    def restart(self) -> None:
        """The connection works: let the next pause be a short one again."""
        self._tries = 0

    @property
    def left(self) -> float:
        """Seconds until it ends."""
        return max(self._deadline - self._timeouts.clock(), 0.001)

    def pause(self, again: TryAgain) -> float:
        """Seconds until the next try. Raises the final error if that would be too late."""
        self.in_doubt = self.in_doubt or (self._changes and again.has_arrived)
        usual = min(_SHORTEST * 2 ** min(self._tries, 8), _LONGEST) * (0.5 + self._timeouts.random() / 2)
        seconds: float = max(usual, again.after)
        if seconds >= self.left:
            raise again.error or Unreachable(self._url, again.reason, self.in_doubt) from None
        self._tries += 1
        return seconds


async def ask(wire: Wire, request: WireRequest, *, until: float | None = None) -> WireReply:
    """Send a request until there is a final answer.

    Raises Unreachable when the time is over, UnexpectedAnswer, or Refused.
    """
    budget = RetryBudget(wire, until=until, changes=request.method != "GET")
    while True:
        try:
            return checked_reply(wire, await _try(wire, request, budget.left))
        except Conflict as conflict:
            conflict.in_doubt = budget.in_doubt
            raise
        except TryAgain as again:
            pause = budget.pause(again)
        await wire.pause(pause)


def checked_reply(wire: Wire, reply: WireReply) -> WireReply:
    """The answer, if it is a success. Raises TryAgain if it is not final, otherwise the error it means."""
    if 200 <= reply.status < 300:
        return reply
    problem = _problem(reply)
    after = _retry_after(reply)
    if reply.status in _AWAY:
        raise TryAgain(problem.detail if problem else f"it answered {reply.status}", after=after)
    if problem is None:
        raise unexpected(wire, reply)
    if reply.status == 429:
        raise TryAgain(problem.detail, has_arrived=False, after=after, error=TooMany(problem, after))
    raise BY_STATUS.get(reply.status, Refused)(problem)


def unexpected(wire: Wire, reply: WireReply) -> RemoteError:
    """The error for an answer that no Tenure server gives."""
    if 300 <= reply.status < 400:
        return UnexpectedAnswer(wire.url, "it redirects, and the key must not follow")
    form = reply.headers.get("content-type", "no content type").partition(";")[0]
    return UnexpectedAnswer(wire.url, f"it answered {reply.status} with {form[:64]}")


def read(wire: Wire, reply: WireReply, kind: type[T]) -> T:
    """Decode an answer. Raises UnexpectedAnswer if its body is not of this kind."""
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise unexpected(wire, reply) from None


async def read_all(wire: Wire, answer: WireAnswer, until: float) -> WireReply:
    """Read an answer to its end. Raises UnexpectedAnswer if it is too large, TryAgain if it is too slow."""
    body = bytearray()
    async for piece in answer.pieces:
        body += piece
        if len(body) > LARGEST_ANSWER:
            raise UnexpectedAnswer(wire.url, f"its answer has more than {LARGEST_ANSWER:,} bytes")
        if wire.timeouts.clock() > until:
            raise TryAgain("its answer did not end in time")
    return WireReply(answer.status, answer.headers, bytes(body))


async def _try(wire: Wire, request: WireRequest, left: float) -> WireReply:
    seconds = min(request.seconds, left)
    until = wire.timeouts.clock() + seconds
    async with wire.ask(request, seconds) as answer:
        return await read_all(wire, answer, until)


def _problem(reply: WireReply) -> Problem | None:
    if reply.headers.get("content-type", "").partition(";")[0].strip() != "application/problem+json":
        return None
    try:
        return msgspec.json.decode(reply.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _retry_after(reply: WireReply) -> float:
    text = reply.headers.get("retry-after", "")
    return float(text) if _WHOLE.fullmatch(text) else 0.0
