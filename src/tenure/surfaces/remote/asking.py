"""Asking until there is an answer that counts: which ones do, and how often to try, decided in one place."""

import re
from typing import TypeVar

import msgspec

from tenure.surfaces.http.problems import Problem
from tenure.surfaces.remote.errors import (
    BY_STATUS,
    Conflict,
    Refused,
    RemoteError,
    TooMany,
    UnexpectedAnswer,
    Unreachable,
)
from tenure.surfaces.remote.wire import Again, Answer, Reply, Request, Terms, Wire

T = TypeVar("T")

LARGEST_ANSWER = 16 * 2**20
"""Bytes beyond which no answer of a Tenure server goes."""

_SHORTEST, _LONGEST = 0.1, 2.0
"""Seconds between two tries: of the first, and at most."""

_AWAY = frozenset({408, 502, 503, 504})
"""Statuses that say that the server, or what lies behind it, is not there at the moment."""

_WHOLE = re.compile(r"[0-9]{1,9}")


class Patience:
    """How long somebody goes on asking: from now on, or from when the server was last heard of."""

    def __init__(self, wire: Wire, *, until: float | None = None, changes: bool = False) -> None:
        """`until` is when it ends at the latest; `changes` says that something is to become of a job."""
        self._url = wire.url
        self._terms: Terms = wire.terms
        self._until = until
        self._changes = changes
        self._tries = 0
        self.in_doubt = False
        """Whether a try without an answer may have changed something."""
        self.renew()

    def renew(self) -> None:
        """The server was heard of."""
        self._deadline = self._terms.clock() + self._terms.timeout
        if self._until is not None:
            self._deadline = min(self._deadline, self._until)

    def restart(self) -> None:
        """All is well: the next pause is a first one."""
        self._tries = 0

    @property
    def left(self) -> float:
        """Seconds until it ends."""
        return max(self._deadline - self._terms.clock(), 0.001)

    def pause(self, again: Again) -> float:
        """Seconds until the next try. Raises what there is to say when that would be too late."""
        self.in_doubt = self.in_doubt or (self._changes and again.has_arrived)
        usual = min(_SHORTEST * 2 ** min(self._tries, 8), _LONGEST) * (0.5 + self._terms.random() / 2)
        seconds: float = max(usual, again.after)
        if seconds >= self.left:
            raise again.error or Unreachable(self._url, again.reason, self.in_doubt) from None
        self._tries += 1
        return seconds


async def ask(wire: Wire, request: Request, *, until: float | None = None) -> Reply:
    """The answer to a request, which is sent again while nobody knows whether it was done.

    Raises Unreachable when the time is over, UnexpectedAnswer, or Refused.
    """
    patience = Patience(wire, until=until, changes=request.method != "GET")
    while True:
        try:
            return judged(wire, await _try(wire, request, patience.left))
        except Conflict as conflict:
            conflict.in_doubt = patience.in_doubt
            raise
        except Again as again:
            pause = patience.pause(again)
        await wire.pause(pause)


def judged(wire: Wire, reply: Reply) -> Reply:
    """The answer, if it is one to go by. Raises Again when it is not yet, and otherwise what is wrong."""
    if 200 <= reply.status < 300:
        return reply
    problem = _problem(reply)
    after = _retry_after(reply)
    if reply.status in _AWAY:
        raise Again(problem.detail if problem else f"it answers with {reply.status}", after=after)
    if problem is None:
        raise unexpected(wire, reply)
    if reply.status == 429:
        raise Again(problem.detail, has_arrived=False, after=after, error=TooMany(problem, after))
    raise BY_STATUS.get(reply.status, Refused)(problem)


def unexpected(wire: Wire, reply: Reply) -> RemoteError:
    """The error for an answer that no Tenure server gives."""
    if 300 <= reply.status < 400:
        return UnexpectedAnswer(wire.url, "it sends elsewhere, where the key is not to go")
    form = reply.headers.get("content-type", "no type at all").partition(";")[0]
    return UnexpectedAnswer(wire.url, f"{reply.status} with {form[:64]}")


def read(wire: Wire, reply: Reply, kind: type[T]) -> T:
    """What an answer says. Raises UnexpectedAnswer when that is not what was asked for."""
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise unexpected(wire, reply) from None


async def whole(wire: Wire, answer: Answer, until: float) -> Reply:
    """An answer to its end. Raises UnexpectedAnswer when it has none, Again when that comes too late."""
    body = bytearray()
    async for piece in answer.pieces:
        body += piece
        if len(body) > LARGEST_ANSWER:
            raise UnexpectedAnswer(wire.url, f"more than {LARGEST_ANSWER:,} bytes")
        if wire.terms.clock() > until:
            raise Again("the answer does not come to an end")
    return Reply(answer.status, answer.headers, bytes(body))


async def _try(wire: Wire, request: Request, left: float) -> Reply:
    seconds = min(request.seconds, left)
    until = wire.terms.clock() + seconds
    async with wire.ask(request, seconds) as answer:
        return await whole(wire, answer, until)


def _problem(reply: Reply) -> Problem | None:
    if reply.headers.get("content-type", "").partition(";")[0].strip() != "application/problem+json":
        return None
    try:
        return msgspec.json.decode(reply.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _retry_after(reply: Reply) -> float:
    text = reply.headers.get("retry-after", "")
    return float(text) if _WHOLE.fullmatch(text) else 0.0
