"""The server around the application: where it listens, and how it stops."""

import contextlib
import socket
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, cast

import uvicorn

from tenure.core.errors import InvalidInput
from tenure.surfaces.http.application import Application, OnBug
from tenure.surfaces.http.connection import Connection, Limits
from tenure.surfaces.http.desk import Desk
from tenure.surfaces.http.door import USUAL_RATE, Door
from tenure.surfaces.http.gate import RESERVE, Gate
from tenure.surfaces.http.hosts import LOOPBACK, is_loopback
from tenure.surfaces.http.intake import Room
from tenure.surfaces.http.peers import Proxies
from tenure.surfaces.http.routes import Route
from tenure.surfaces.http.seats import Seats
from tenure.surfaces.http.table import ROUTES

BACKLOG = 1024
"""Connections that may wait to be let in."""


def listen(host: str, port: int, *, is_locked: bool = False) -> socket.socket:
    """A socket. Raises InvalidInput for a port that is taken, and unless `is_locked` for others' addresses.

    Without keys whoever reaches the server may do everything, so nobody else may reach it.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InvalidInput("host", f"is {host!r:.64}, which leads nowhere", "give 127.0.0.1") from None
    if not is_locked and not all(is_loopback(str(address[0])) for *_, address in found):
        raise InvalidInput(
            "host",
            f"is {host!r:.64}, which others can reach, and there are no keys to tell them apart",
            "make a key first, with `tenure keys create NAME --scope admin`, or give 127.0.0.1",
        )
    family, _, _, _, address = found[0]
    try:
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidInput("port", f"{port} cannot be used: {error.strerror}", "give another one") from None


class Server:
    """Answers requests on a socket until it is told to stop."""

    def __init__(
        self,
        desk: Desk,
        listening: socket.socket,
        *,
        limits: Limits | None = None,
        shutdown_seconds: float = 30.0,
        routes: Iterable[Route] = ROUTES,
        hosts: Iterable[str] = (),
        trusted_proxies: Iterable[str] = (),
        requests_per_second: float = USUAL_RATE,
        on_bug: OnBug,
    ) -> None:
        """`hosts` are names by which it is called beside its address; `on_bug` as in `Application`.

        `trusted_proxies` are networks of those whose word on where a request came from is believed.
        """
        self._desk = desk
        self._listening = listening
        limits = limits or Limits()
        proxies = Proxies(trusted_proxies)
        host = str(listening.getsockname()[0])
        application = Application(
            desk,
            hosts=LOOPBACK | {host} | {name.lower() for name in hosts},
            on_bug=on_bug,
            room=Room(limits.large_bodies),
            seats=Seats(limits.streams, limits.streams_per_key),
            routes=[
                route.bounded(limits.body_bytes, limits.batch_bytes, limits.request_seconds)
                for route in routes
            ],
            door=Door(desk.store, requests_per_second=requests_per_second),
        )
        self._server = _Uvicorn(
            uvicorn.Config(
                cast("Any", application),
                http=cast("Any", partial(Connection, Gate(limits.connections), limits, proxies)),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                backlog=RESERVE // 2,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=int(limits.rest_seconds) + 1,
                timeout_graceful_shutdown=max(int(shutdown_seconds), 1),
            )
        )

    @property
    def url(self) -> str:
        """Where it is reached."""
        host, port = self._listening.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def run(self) -> None:
        """Serve; when told to stop, accept nothing more, let what is under way finish, and return."""
        await self._server.serve(sockets=[self._listening])

    def stop(self) -> None:
        """Stop in good order; told a second time, at once."""
        if self._server.should_exit:
            self._server.force_exit = True
        self._server.should_exit = True
        self._desk.stopping.set()


class _Uvicorn(uvicorn.Server):
    """Signals are the command's own business: uvicorn's handlers would end the process by them.

    Of those who wait to be let in only so many are at a time as the gate can hear before more of them come:
    asyncio lets in as many in a row as may wait, unless it is told so by a smaller number.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
