"""Reads one request: its headers, and its body within limits that are checked before it is read.

The bodies of all requests share a budget. Only what a body has beyond its first 64 KiB counts, so that large
bodies can exhaust it and small ones always go through.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.routes import ANY, Route

FREE = 65_536
"""Bytes of each body that do not count."""

_EMPTY = 64
"""Bytes that are read where a route takes no body: clients may send an empty object."""

KNOWN = "tenure.known"
"""The ASGI extension that tells the connection that the caller has a valid key."""

_ONCE = frozenset({"host", "content-type", "content-length", "content-encoding", "origin", "sec-fetch-site"})
_QUALITY = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")
_UTF_8 = re.compile(r'(?:\s*;\s*charset="?utf-8"?)?', re.IGNORECASE)


class ClientGone(Exception):
    """The client closed the connection before its request had arrived."""


class BodyBudget:
    """How many more bytes of large bodies may be held."""

    def __init__(self, size: int) -> None:
        self.left = size


class RequestReader:
    """One request, as it arrives."""

    def __init__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        budget: BodyBudget,
    ) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1")
        self.query: bytes = scope["query_string"]
        self.peer: str = (scope.get("client") or ("", 0))[0]
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]
        self.key: str | None = None
        """The id of the caller's key, once that is known."""
        self._on_known: Callable[[], None] | None = scope.get("extensions", {}).get(KNOWN)
        self._receive = receive
        self._budget = budget
        self._taken = 0
        names = {name for name, _ in self._raw}
        self.is_complete = not names & {b"content-length", b"transfer-encoding"}
        """Whether the whole request has arrived."""

    def set_key(self, key: str | None) -> None:
        """Set the caller's key; without one the body gets little time."""
        self.key = key
        if key is not None and self._on_known is not None:
            self._on_known()

    @property
    def traceparent(self) -> str | None:
        """The header of that name; None when it is given more than once."""
        found = [value for name, value in self._raw if name == b"traceparent"]
        return found[0].decode("latin-1") if len(found) == 1 else None

    @property
    def url(self) -> str:
        """The path with its parameters."""
        return f"{self.path}?{self.query.decode('latin-1')}" if self.query else self.path

    def headers(self) -> dict[str, str]:
        """The headers by name. Raises Refusal when one that may be given once is given twice."""
        found: dict[str, str] = {}
        for raw_name, raw_value in self._raw:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            if name in found and name in _ONCE:
                raise Refusal("malformed-request", f"the header {name} is given twice; send it once")
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    async def body(self, headers: dict[str, str], route: Route) -> bytes:
        """The body, within the route's limit; empty when there is none and the route needs none."""
        limit = route.most_bytes or _EMPTY
        length = int(headers.get("content-length", 0))
        if length > limit:
            raise _too_large(route)
        has_body = length > 0 or "transfer-encoding" in headers
        if route.takes is not None and (has_body or (route.body is not None and route.needs_body)):
            _check_type(headers, route.takes)
        raw = await self._read(limit, route)
        if route.takes is None:
            # Many clients send an empty object with every method but GET.
            if b"".join(raw.split()) not in {b"", b"{}"}:
                raise _too_large(route)
            return b""
        if not raw and route.body is not None and route.needs_body:
            raise Refusal("malformed-json", "the body is empty; send a JSON object")
        return raw

    async def _read(self, limit: int, route: Route) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while not self.is_complete:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
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
            if more > self._budget.left:
                raise Refusal("busy", "the server holds as many large bodies as it may; try again")
            self._budget.left -= more
            self._taken += more

    def release(self) -> None:
        """Return the body's bytes to the budget."""
        self._budget.left += self._taken
        self._taken = 0

    async def until_gone(self) -> None:
        """Return once the client has closed the connection; read the body first."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def preferred_type(headers: dict[str, str], offered: Sequence[str]) -> str:
    """The media type that the client prefers, the first among equals. Raises Refusal when it accepts none.

    A type that it names counts more than one that a wildcard covers.
    """
    if "accept" not in headers or ANY in offered:
        return offered[0]
    accept = headers["accept"].lower()
    rated = [(_preference(accept, media_type.partition(";")[0]), media_type) for media_type in offered]
    preference, media_type = max(rated, key=lambda one: one[0])
    if not preference[0]:
        raise Refusal("not-acceptable", f"this call answers with {' or '.join(offered)}; name it in Accept")
    return media_type


def _preference(accept: str, media_type: str) -> tuple[float, int]:
    """A media type's quality, from 0 to 1, and how exactly Accept names it; its most exact entry counts."""
    ranges = ("*/*", f"{media_type.partition('/')[0]}/*", media_type)
    found = (0.0, 0)
    most_exact = -1
    for choice in accept.split(","):
        media, *options = (part.strip() for part in choice.split(";"))
        if media in ranges and (exactness := ranges.index(media)) > most_exact:
            most_exact, found = exactness, (_quality(options), exactness)
    return found


def _quality(options: list[str]) -> float:
    given = [found for option in options if (found := _QUALITY.fullmatch(option))]
    return float(given[0][1]) if given else 1.0


def _check_type(headers: dict[str, str], media_type: str) -> None:
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal("unsupported-media-type", "send the body without Content-Encoding")
    if headers.get("transfer-encoding", "chunked").strip().lower() != "chunked":
        raise Refusal("unsupported-media-type", "send the body with Transfer-Encoding: chunked, or with none")
    given = headers.get("content-type", "").strip()
    size = len(media_type)
    if given[:size].lower() != media_type or not _UTF_8.fullmatch(given[size:]):
        raise Refusal("unsupported-media-type", f"send the body in UTF-8, with Content-Type: {media_type}")


def _too_large(route: Route) -> Refusal:
    limit = route.most_bytes
    detail = (
        f"the body may have at most {limit:,} bytes" if limit else "this call takes no body; send none, or {}"
    )
    return Refusal("too-large", detail)
