"""What comes in with one request: headers, and a body that is bounded before it is read.

Bodies of many requests at once share a room: what a request has beyond its first 64 KiB is counted there, so
that large bodies can fill it and small ones always go through.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.routes import ANY, Route

FREE = 65_536
"""Bytes of each body that are not counted."""

_EMPTY = 64
"""Bytes that are read where no body is wanted: it may be an empty object."""

KNOWN = "tenure.known"
"""The extension of a request's scope by which it is said that the caller has a key."""

_ONCE = frozenset({"host", "content-type", "content-length", "content-encoding", "origin", "sec-fetch-site"})
_QUALITY = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")
_UTF_8 = re.compile(r'(?:\s*;\s*charset="?utf-8"?)?', re.IGNORECASE)


class Gone(Exception):
    """The client has closed the connection before its request was there."""


class Room:
    """How many bytes of large bodies are held at present."""

    def __init__(self, size: int) -> None:
        self.left = size


class Intake:
    """One request as it arrives."""

    def __init__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        room: Room,
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")
        self.query: bytes = scope["query_string"]
        self.peer: str = (scope.get("client") or ("", 0))[0]
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]
        self.key: str | None = None
        """The id of the key that it was made with, once that is known."""
        self._know: Callable[[], None] | None = scope.get("extensions", {}).get(KNOWN)
        self._receive = receive
        self._room = room
        self._taken = 0
        names = {name for name, _ in self._raw}
        self.is_complete = not names & {b"content-length", b"transfer-encoding"}
        """Whether nothing of the request is still to come."""

    def know(self, key: str | None) -> None:
        """Say by which key the caller is known; who has none is given little time."""
        self.key = key
        if key is not None and self._know is not None:
            self._know()

    @property
    def traceparent(self) -> str | None:
        """What the request says it follows from; several are as good as none."""
        found = [value for name, value in self._raw if name == b"traceparent"]
        return found[0].decode("latin-1") if len(found) == 1 else None

    @property
    def url(self) -> str:
        """The path with its parameters."""
        return f"{self.path}?{self.query.decode('latin-1')}" if self.query else self.path

    def headers(self) -> dict[str, str]:
        """The headers by name. Raises Refusal when one that may stand once stands twice."""
        found: dict[str, str] = {}
        for raw_name, raw_value in self._raw:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            if name in found and name in _ONCE:
                raise Refusal("malformed-request", f"{name} is given twice")
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    async def body(self, headers: dict[str, str], route: Route) -> bytes:
        """The body, within what the route takes; empty when there is none and none is needed."""
        limit = route.most_bytes or _EMPTY
        length = int(headers.get("content-length", 0))
        if length > limit:
            raise _too_large(route)
        has_body = length > 0 or "transfer-encoding" in headers
        if route.takes is not None and (has_body or (route.body is not None and route.needs_body)):
            _check_form(headers, route.takes)
        raw = await self._read(limit, route)
        if route.takes is None:
            # Many clients send an empty object with whatever is no GET.
            if b"".join(raw.split()) not in {b"", b"{}"}:
                raise _too_large(route)
            return b""
        if not raw and route.body is not None and route.needs_body:
            raise Refusal("malformed-json", "the body is empty")
        return raw

    async def _read(self, limit: int, route: Route) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while not self.is_complete:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise _too_large(route)
            self._take(size - FREE - self._taken)
            self.is_complete = not message.get("more_body", False)
        return b"".join(pieces)

    def _take(self, more: int) -> None:
        if more > 0:
            if more > self._room.left:
                raise Refusal("busy", "too many large bodies at once; try again")
            self._room.left -= more
            self._taken += more

    def release(self) -> None:
        """The body is needed no more."""
        self._room.left += self._taken
        self._taken = 0

    async def until_gone(self) -> None:
        """Return when the client has closed the connection; the body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def chosen_form(headers: dict[str, str], offered: Sequence[str]) -> str:
    """The form of answer that the client likes best, of several the first. Raises Refusal when it is none.

    Whoever names a form likes it better than one that it takes among others.
    """
    if "accept" not in headers or ANY in offered:
        return offered[0]
    liked = [(_liking(headers["accept"].lower(), form.partition(";")[0]), form) for form in offered]
    liking, form = max(liked, key=lambda one: one[0])
    if not liking[0]:
        raise Refusal("not-acceptable", f"the answer is {' or '.join(offered)}")
    return form


def _liking(accept: str, form: str) -> tuple[float, int]:
    """How much of a form is wanted, from 0 to 1, and how plainly it is named; the plainest word counts."""
    ranges = ("*/*", f"{form.partition('/')[0]}/*", form)
    found = (0.0, 0)
    plainest = -1
    for choice in accept.split(","):
        media, *options = (part.strip() for part in choice.split(";"))
        if media in ranges and (plain := ranges.index(media)) > plainest:
            plainest, found = plain, (_quality(options), plain)
    return found


def _quality(options: list[str]) -> float:
    given = [found for option in options if (found := _QUALITY.fullmatch(option))]
    return float(given[0][1]) if given else 1.0


def _check_form(headers: dict[str, str], media_type: str) -> None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal("unsupported-media-type", "send the body as it is, without Content-Encoding")
    if headers.get("transfer-encoding", "chunked").strip().lower() != "chunked":
        raise Refusal("unsupported-media-type", "send the body as it is, at most in chunks")
    given = headers.get("content-type", "").strip()
    size = len(media_type)
    if given[:size].lower() != media_type or not _UTF_8.fullmatch(given[size:]):
        raise Refusal("unsupported-media-type", f"send {media_type}, in UTF-8")


def _too_large(route: Route) -> Refusal:
    limit = route.most_bytes
    return Refusal(
        "too-large",
        f"at most {limit:,} bytes are taken here" if limit else "no body is taken here, but for {}",
    )
