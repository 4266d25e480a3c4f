"""One connection, bounded: uvicorn's own would keep half a request for ever and headers without limit.

A connection is in one of five phases: it *rests* until a request begins, the *head* arrives, the *body*
arrives, the request is *answered*, and it *drains* once the server has sent its last answer. Each phase but
the fourth has a time limit, and so has a client that does not read its answer. Heads are limited in bytes and
number while they arrive; bodies by the application, which alone knows how much a route takes.

Slow clients cost others nothing, however many they are: until its request has arrived, a connection makes
room for new ones. And until the caller is known, its body gets no more time than a head.
"""

import asyncio
from enum import Enum, auto
from functools import partial
from typing import Any

from uvicorn._types import HTTPScope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tenure.settings.http_limits import HttpLimits
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.request_body import KNOWN
from tenure.surfaces.http.auth.peers import Proxies, peer_network
from tenure.surfaces.http.server.connection_limit import ConnectionLimit, ConnectionPlace, Readiness
from tenure.surfaces.http.server.lingering_close import LingeringClose, raw_answer
from tenure.surfaces.http.server.request_line import apply_target_host, check_line

PROBES = frozenset({b"/healthz", b"/readyz"})
"""Paths that are answered even when every place is at work: else a supervisor would kill a busy server."""


class Phase(Enum):
    """The phase of a connection."""

    REST = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    DRAIN = auto()


class Connection(HttpToolsProtocol):
    """One connection of the server."""

    def __init__(
        self,
        connection_limit: ConnectionLimit,
        limits: HttpLimits,
        proxies: Proxies,
        drain_seconds: float,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """`drain_seconds` is how long a refused client may take to read why and to stop sending."""
        super().__init__(config, server_state, app_state, _loop)
        self._place = ConnectionPlace(connection_limit, self)
        self._limits = limits
        self._drain_seconds = drain_seconds
        self._proxies = proxies
        self._by_proxy = False
        self._phase = Phase.REST
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._refusal: Refusal | None = None
        self._is_known = False
        """Whether the caller of the request has a valid key."""
        self._is_deaf = False
        """Whether reading has ended, while answers are still to be written."""
        self._head = 0
        """Bytes of the head that have arrived so far."""
        self._raw = b""
        """The raw bytes of the head, until it is complete."""
        self._header_bytes = 0
        """Bytes of its complete headers."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, or refuse the connection."""
        super().connection_made(LingeringClose(transport, self, self._drain_seconds))  # type: ignore[arg-type]
        peer = self.client[0] if self.client else ""
        self._by_proxy = self._proxies.include(peer)
        if self._place.enter(None if self._by_proxy else peer_network(peer)):
            self._enter(Phase.REST, self._limits.http_rest_seconds)
        else:
            self._refuse(_busy())

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place up."""
        self._place.leave()
        self._enter(Phase.DRAIN)
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def make_room(self) -> None:
        """Close at once: a new connection needs the place."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, and refuse a head that is too large."""
        if self._phase is Phase.DRAIN or self._is_deaf:
            return
        if self._phase in {Phase.REST, Phase.HEAD}:
            self._head += len(data)
        self._raw = self._raw + data if self._phase is Phase.HEAD else data
        super().data_received(data)
        if self._phase is not Phase.HEAD:
            self._raw = b""
        if self._phase is Phase.HEAD and self._head > self._limits.http_head_bytes:
            self._refuse(self._too_long())
        self._update_readiness()

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._phase is not Phase.REST:
            self._head = 0
        self._header_bytes = 0
        self._enter(Phase.HEAD, self._limits.http_head_seconds)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Part of the address."""
        super().on_url(url)
        if len(self.url) > self._limits.http_url_bytes:
            self._fail(self._too_long())

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value) + 4
        size = len(self.url) + self._header_bytes
        if len(self.headers) > self._limits.http_headers or size > self._limits.http_head_bytes:
            self._fail(self._too_long())

    def on_headers_complete(self) -> None:
        """The head is complete."""
        try:
            check_line(self.parser.get_method(), self.url, self._raw)
            apply_target_host(self.url, self.headers)
        except Refusal as refusal:
            self._fail(refusal)
        client = self._proxies.client(self.headers) if self._by_proxy else None
        if client is not None:
            self._place.set_peer(peer_network(client))
        if not self._place.may_work and self.url.partition(b"?")[0] not in PROBES:
            self._fail(_busy())
        self._is_known = False
        super().on_headers_complete()
        if client is not None:
            self.scope["client"] = (client, 0)
        self.scope["extensions"] = {KNOWN: partial(self._know, self.scope)}  # type: ignore[dict-item]
        # A pipelined body cannot arrive before the request ahead of it is answered.
        limits = self._limits
        self._enter(Phase.BODY, limits.http_body_seconds if self.pipeline else limits.http_head_seconds)

    def on_message_complete(self) -> None:
        """The request has arrived whole."""
        super().on_message_complete()
        if self._phase is Phase.BODY:
            self._enter(Phase.ANSWER)

    def pause_writing(self) -> None:
        """The client does not read; give it some time before closing."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._limits.http_write_seconds, self.transport.abort)
        self._update_readiness()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
        self._update_readiness()

    def on_response_complete(self) -> None:
        """The answer is written; the next request may begin, or already has."""
        super().on_response_complete()
        if not self.transport.is_closing() and not self.pipeline:
            if self._by_proxy:
                self._place.set_peer(None)
            if self._phase is Phase.ANSWER:
                self._head = 0
                self._enter(Phase.REST, self._limits.http_rest_seconds)
        self._update_readiness()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse: the parser gave up, or `_fail` made it."""
        self._refuse(self._refusal or Refusal("malformed-request", "the server cannot read this as HTTP/1.1"))

    def drain(self) -> bool:
        """Discard what arrives from now on; returns whether a request is still arriving."""
        unfinished = self._is_deaf or self._phase in {Phase.HEAD, Phase.BODY}
        self._enter(Phase.DRAIN)
        # A client refused half-way has its answer; others may still be reading theirs.
        self._place.set_readiness(Readiness.FIRST if unfinished else Readiness.LAST)
        return unfinished

    def _fail(self, refusal: Refusal) -> None:
        """Stop the parser; what it raises comes back as `send_400_response`."""
        self._refusal = refusal
        raise refusal

    def _too_long(self) -> Refusal:
        limits = self._limits
        if len(self.url) > limits.http_url_bytes or (not self.headers and not self._has_url_ended()):
            return Refusal("uri-too-long", f"the address may have at most {limits.http_url_bytes:,} bytes")
        detail = (
            f"a request may have at most {limits.http_headers} headers, "
            f"and {limits.http_head_bytes:,} bytes of address and headers"
        )
        return Refusal("headers-too-large", detail)

    def _has_url_ended(self) -> bool:
        # More has arrived than the method and the address: the first header is on its way.
        return self._head > len(self.url) + 32

    def _enter(self, phase: Phase, seconds: float | None = None) -> None:
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _know(self, scope: HTTPScope) -> None:
        """Give the known caller of a request the full time to send the body."""
        if self.scope is scope:
            self._is_known = True
            if self._phase is Phase.BODY:
                self._enter(Phase.BODY, self._limits.http_body_seconds)
            self._update_readiness()

    def _update_readiness(self) -> None:
        """Tell the connection limit how soon this connection makes room."""
        if self._phase is Phase.DRAIN:
            return
        if self.flow.write_paused and not self._is_known:
            self._place.set_readiness(Readiness.FIRST)
        elif self._has_whole_request():
            self._place.set_readiness(None)
        elif self._phase is Phase.BODY:
            self._place.set_readiness(Readiness.LAST if self._is_known else Readiness.FIRST)
        else:
            self._place.set_readiness(Readiness.RESTING)

    def _has_whole_request(self) -> bool:
        """Whether a request is waiting for its answer; a pipelined one may still be arriving."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or cycle.disconnected:
            return bool(self.pipeline)
        return bool(self.pipeline) or not cycle.more_body

    def _too_slow(self) -> None:
        if self._phase is Phase.REST:
            self.transport.close()
        else:
            self._refuse(Refusal("request-timeout", "the request did not arrive in time; send it again"))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with the refusal and close.

        If an earlier request is still to be answered, its answer is the last one. If an answer has begun,
        close without another.
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
            # Tell the application that the client is gone.
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(raw_answer(refusal))
        self.transport.close()


def _busy() -> Refusal:
    return Refusal("busy", "every connection of the server is in use; try again")
