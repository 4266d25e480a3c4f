"""The server around the application: where it listens, and how it stops."""

import contextlib
import socket
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, cast

import uvicorn

from tenure.core.errors import InvalidInput
from tenure.settings.http_limits import HttpLimits
from tenure.surfaces.http.app.concurrency_limit import ConcurrencyLimit
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.app.hosts import LOOPBACK, is_loopback
from tenure.surfaces.http.app.request_body import BodyBudget
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.auth.authentication import USUAL_RATE, Authenticator
from tenure.surfaces.http.auth.peers import Proxies
from tenure.surfaces.http.docs.reference import RouteReference
from tenure.surfaces.http.server.application import Application, OnBug
from tenure.surfaces.http.server.connection import Connection
from tenure.surfaces.http.server.connection_limit import RESERVE, ConnectionLimit

BACKLOG = 1024
"""Connections that may wait to be accepted."""

DRAIN_SECONDS = 2.0
"""How long a refused client may take to read why and to stop sending."""


def listen(host: str, port: int, *, is_locked: bool = False) -> socket.socket:
    """A listening socket. Raises InvalidInput for a port in use, and unless `is_locked` for a public address.

    Without keys every caller that reaches the server may do everything, so only this machine may reach it.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InvalidInput("host", f"is {host!r:.64}, which cannot be resolved", "give 127.0.0.1") from None
    if not is_locked and not all(is_loopback(str(address[0])) for *_, address in found):
        raise InvalidInput(
            "host",
            f"is {host!r:.64}, which other machines can reach, but there are no keys yet",
            "create a key first with `tenure keys create NAME --scope admin`, or give 127.0.0.1",
        )
    family, _, _, _, address = found[0]
    try:
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidInput("port", f"{port} cannot be used: {error.strerror}", "give another port") from None


class Server:
    """Answers requests on a socket until `stop` is called."""

    def __init__(
        self,
        context: AppContext,
        listening: socket.socket,
        *,
        routes: Iterable[Route],
        limits: HttpLimits | None = None,
        shutdown_seconds: float = 30.0,
        drain_seconds: float = DRAIN_SECONDS,
        hosts: Iterable[str] = (),
        trusted_proxies: Iterable[str] = (),
        requests_per_second: float = USUAL_RATE,
        on_bug: OnBug,
    ) -> None:
        """`hosts` are the server's names beside its address; `on_bug` is as in `Application`.

        `trusted_proxies` are networks of proxies whose `X-Forwarded-For` counts.
        """
        self._context = context
        self._listening = listening
        limits = limits or HttpLimits()
        proxies = Proxies(trusted_proxies)
        routes = [route.bounded(limits) for route in routes]
        host = str(listening.getsockname()[0])
        application = Application(
            context,
            hosts=LOOPBACK | {host} | {name.lower() for name in hosts},
            on_bug=on_bug,
            body_budget=BodyBudget(limits.http_large_bodies),
            streams=ConcurrencyLimit(limits.http_streams, limits.http_streams_per_key),
            routes=routes,
            reference=RouteReference(routes),
            authenticator=Authenticator(context.access, requests_per_second=requests_per_second),
        )
        connection_limit = ConnectionLimit(limits.http_connections)
        connection = partial(Connection, connection_limit, limits, proxies, drain_seconds)
        self._server = _Uvicorn(
            uvicorn.Config(
                cast("Any", application),
                http=cast("Any", connection),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                backlog=RESERVE // 2,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=int(limits.http_rest_seconds) + 1,
                timeout_graceful_shutdown=max(int(shutdown_seconds), 1),
            )
        )

    @property
    def url(self) -> str:
        """The server's address."""
        host, port = self._listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def run(self) -> None:
        """Serve until stopped; then accept nothing more, let open requests finish, and return."""
        await self._server.serve(sockets=[self._listening])

    def stop(self, _reason: str = "") -> None:
        """Stop gracefully; a second call stops at once."""
        if self._server.should_exit:
            self._server.force_exit = True
        self._server.should_exit = True
        self._context.stopping.set()


class _Uvicorn(uvicorn.Server):
    """Leaves signals to the command: uvicorn's own handlers would end the process.

    asyncio accepts as many connections in a row as the backlog it is given, so it is given a small one: no
    more than `ConnectionLimit` can hold in reserve. The socket itself then gets the full backlog.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
