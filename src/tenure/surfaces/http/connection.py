"""One connection, bounded: uvicorn's own would keep half a request for ever and headers without limit.

A connection is in one of five phases. It *rests* until a request begins, the *head* arrives, then the *body*,
then it is *answered*; and it *drains* when the server has said its last word on it. Each phase but the fourth
has its time, and so has a client that does not read what it asked for. Heads are bounded in bytes and number
while they arrive; bodies by the application, which alone knows how much a route takes.

Slow clients cost others nothing, however many they are: until its request is there, a connection makes room
for who comes. And until the caller is known, its body has no more time than a head has.
"""

import asyncio
from enum import Enum, auto
from functools import partial
from typing import Any

from msgspec import Struct
from uvicorn._types import HTTPScope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tenure.settings import Settings
from tenure.surfaces.http.gate import Gate, Place, Readiness
from tenure.surfaces.http.intake import KNOWN
from tenure.surfaces.http.letting import Letting, written
from tenure.surfaces.http.peers import Proxies, neighbourhood
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.targets import check_line, take_host

PROBES = frozenset({b"/healthz", b"/readyz"})
"""Paths that are answered though every place is at work: else whoever watches would end a busy server."""


class Limits(Struct, frozen=True, kw_only=True):
    """What one request, one connection, and all of them, may take.

    `large_bodies` is in bytes, for all of them together; `request_seconds` is for the work on one request.
    """

    connections: int = 512
    streams: int = 128
    streams_per_key: int = 32
    body_bytes: int = 2**20
    batch_bytes: int = 16 * 2**20
    large_bodies: int = 64 * 2**20
    head_bytes: int = 16_384
    url_bytes: int = 8192
    headers: int = 100
    rest_seconds: float = 15.0
    head_seconds: float = 10.0
    body_seconds: float = 60.0
    write_seconds: float = 60.0
    request_seconds: float = 10.0
    drain_seconds: float = 2.0

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """What the settings say."""
        names = (name for name in cls.__struct_fields__ if f"http_{name}" in Settings.__struct_fields__)
        return cls(**{name: getattr(settings, f"http_{name}") for name in names})


class Phase(Enum):
    """Where a connection is."""

    REST = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    DRAIN = auto()


class Connection(HttpToolsProtocol):
    """One connection of the server."""

    def __init__(
        self,
        gate: Gate,
        limits: Limits,
        proxies: Proxies,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._place = Place(gate, self)
        self._limits = limits
        self._proxies = proxies
        self._by_proxy = False
        self._phase = Phase.REST
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._refusal: Refusal | None = None
        self._is_known = False
        """Whether the caller of the request has shown a key that opens something."""
        self._is_deaf = False
        """Whether nothing more is read, though answers are still to be written."""
        self._head = 0
        """Bytes that have arrived of the head so far."""
        self._raw = b""
        """Where the head began, as it arrived, until it is there."""
        self._header_bytes = 0
        """Bytes of its whole headers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or say that there is none."""
        super().connection_made(Letting(transport, self, self._limits.drain_seconds))  # type: ignore[arg-type]
        peer = self.client[0] if self.client else ""
        self._by_proxy = self._proxies.hold(peer)
        if self._place.enter(None if self._by_proxy else neighbourhood(peer)):
            self._enter(Phase.REST, self._limits.rest_seconds)
        else:
            self._refuse(_busy())

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._place.leave()
        self._enter(Phase.DRAIN)
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def make_room(self) -> None:
        """End at once: somebody else needs the place."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take in what has arrived, as far as the head may go."""
        if self._phase is Phase.DRAIN or self._is_deaf:
            return
        if self._phase in {Phase.REST, Phase.HEAD}:
            self._head += len(data)
        self._raw = self._raw + data if self._phase is Phase.HEAD else data
        super().data_received(data)
        if self._phase is not Phase.HEAD:
            self._raw = b""
        if self._phase is Phase.HEAD and self._head > self._limits.head_bytes:
            self._refuse(self._too_long())
        self._stand()

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._phase is not Phase.REST:
            self._head = 0
        self._header_bytes = 0
        self._enter(Phase.HEAD, self._limits.head_seconds)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Part of the address."""
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._fail(self._too_long())

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value) + 4
        size = len(self.url) + self._header_bytes
        if len(self.headers) > self._limits.headers or size > self._limits.head_bytes:
            self._fail(self._too_long())

    def on_headers_complete(self) -> None:
        """The head is there."""
        try:
            check_line(self.parser.get_method(), self.url, self._raw)
            take_host(self.url, self.headers)
        except Refusal as refusal:
            self._fail(refusal)
        client = self._proxies.client(self.headers) if self._by_proxy else None
        if client is not None:
            self._place.belong(neighbourhood(client))
        if not self._place.may_work and self.url.partition(b"?")[0] not in PROBES:
            self._fail(_busy())
        self._is_known = False
        super().on_headers_complete()
        if client is not None:
            self.scope["client"] = (client, 0)
        self.scope["extensions"] = {KNOWN: partial(self._know, self.scope)}  # type: ignore[dict-item]
        # What stands behind another request cannot arrive before that is answered.
        limits = self._limits
        self._enter(Phase.BODY, limits.body_seconds if self.pipeline else limits.head_seconds)

    def on_message_complete(self) -> None:
        """The request is there."""
        super().on_message_complete()
        if self._phase is Phase.BODY:
            self._enter(Phase.ANSWER)

    def pause_writing(self) -> None:
        """The client does not read; it has some time to begin."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.write_seconds, self.transport.abort)
        self._stand()

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
        self._stand()

    def on_response_complete(self) -> None:
        """The answer is written; the next request may begin, or has begun already."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            if self._by_proxy:
                self._place.belong(None)
            if self._phase is Phase.ANSWER:
                self._head = 0
                self._enter(Phase.REST, self._limits.rest_seconds)
        self._stand()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """The parser gave up, or one of the limits above made it."""
        self._refuse(self._refusal or Refusal("malformed-request", "this is not HTTP/1.1"))

    def drain(self) -> bool:
        """Whether there is something of a request still to come, which is read into nothing from now on."""
        unfinished = self._is_deaf or self._phase in {Phase.HEAD, Phase.BODY}
        self._enter(Phase.DRAIN)
        # Who was refused half-way has heard all that there is; others may still read their answer.
        self._place.stand(Readiness.FIRST if unfinished else Readiness.LAST)
        return unfinished

    def _fail(self, refusal: Refusal) -> None:
        """Stop the parser; what it raises comes back as `send_400_response`."""
        self._refusal = refusal
        raise refusal

    def _too_long(self) -> Refusal:
        if len(self.url) > self._limits.url_bytes or (not self.headers and not self._has_url_ended()):
            return Refusal("uri-too-long", f"at most {self._limits.url_bytes:,} bytes are taken")
        limits = self._limits
        said = f"at most {limits.headers} headers and {limits.head_bytes:,} bytes are taken"
        return Refusal("headers-too-large", said)

    def _has_url_ended(self) -> bool:
        # All that has arrived is the method and the address, or the first header is still on its way.
        return self._head > len(self.url) + 32

    def _enter(self, phase: Phase, seconds: float | None = None) -> None:
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _know(self, scope: HTTPScope) -> None:
        """The caller of a request is known, and may take its time to send the body."""
        if self.scope is scope:
            self._is_known = True
            if self._phase is Phase.BODY:
                self._enter(Phase.BODY, self._limits.body_seconds)
            self._stand()

    def _stand(self) -> None:
        """Tell the gate whether this connection makes room, and how readily."""
        if self._phase is Phase.DRAIN:
            return
        if self.flow.write_paused and not self._is_known:
            self._place.stand(Readiness.FIRST)
        elif self._has_whole_request():
            self._place.stand(None)
        elif self._phase is Phase.BODY:
            self._place.stand(Readiness.LAST if self._is_known else Readiness.FIRST)
        else:
            self._place.stand(Readiness.RESTING)

    def _has_whole_request(self) -> bool:
        """Whether there is a request to answer; what is behind it may still be on its way."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or cycle.disconnected:
            return bool(self.pipeline)
        return bool(self.pipeline) or not cycle.more_body

    def _too_slow(self) -> None:
        if self._phase is Phase.REST:
            self.transport.close()
        else:
            self._refuse(Refusal("request-timeout", "the request did not arrive in time"))

    def _refuse(self, refusal: Refusal) -> None:
        """Say why, and let go.

        Where a whole request stands before what is refused, its answer is the last word. In the midst of an
        answer nothing can be said.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            if self._phase is not Phase.BODY:
                self._is_deaf = True
                self._enter(Phase.ANSWER)
                cycle.keep_alive = False
                return
            if cycle.response_started or self.pipeline:
                self.transport.abort()
                return
            # The application hears that nobody listens any more.
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(written(refusal))
        self.transport.close()


def _busy() -> Refusal:
    return Refusal("busy", "every connection is taken; try again")
