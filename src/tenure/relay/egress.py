"""The way out: sends a request to a receiver, and only to addresses that were checked.

A name is resolved once for a connection, every address that it has is judged, and the connection goes to the
very address that was judged, so that a name server that answers differently the next time gains nothing.
Redirects are not followed and proxies are not asked. Of an answer only its status and one header are kept.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from ipaddress import ip_address
from typing import Any

import httpcore
import httpx

from tenure.core.errors import InvalidInput
from tenure.core.webhooks.endpoint import Endpoint, read_url
from tenure.core.webhooks.reach import Reach
from tenure.relay.answer import Answer
from tenure.relay.bounded_stream import MOST_RECEIVED, AnswerTooLong, BoundedStream
from tenure.relay.names import NameLookups, Resolve

MOST_READ = 64 * 1024
"""How many bytes of an answer are read, and thrown away."""

MOST_CONNECTIONS = 64
MOST_KEPT = 32
KEPT_FOR = 5.0
"""Seconds for which a connection without a request is kept: shorter than most servers keep theirs."""

LONGEST_HEADER = 100
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REDIRECTS = "leads elsewhere, which is not followed: change the webhook's URL to where it leads"
_LISTED = "; TENURE_WEBHOOK_ALLOW of the process that sends lists what may be reached beyond that"


class AddressRefused(Exception):
    """A name leads to an address that webhooks may not reach; nothing was connected."""


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked. `is_plain` is for connections without TLS."""

    def __init__(self, reach: Reach, resolve: Resolve, *, is_plain: bool) -> None:
        self._reach = reach
        self._resolve = resolve
        self._is_plain = is_plain
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that answers, if all of its addresses may be reached."""
        found = await self._checked(host, port)
        # An address that does not answer leaves some of the time to the next one.
        share = None if timeout is None else timeout / len(found)
        for address in found[:-1]:
            try:
                return await self._connected(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._connected(found[-1], port, share, local_address, socket_options)

    async def _connected(self, address: str, *how: Any) -> httpcore.AsyncNetworkStream:
        return BoundedStream(await self._network.connect_tcp(address, *how))

    async def _checked(self, host: str, port: int) -> list[str]:
        try:
            found = list(await self._resolve(host, port))
        except OSError as error:
            raise AddressRefused(f"{host} cannot be resolved: {error.strerror or error}") from None
        if not found:
            raise AddressRefused(f"{host} has no address")
        for text in found:
            refusal = self._reach.refusal(ip_address(text), port, is_plain=self._is_plain)
            if refusal is not None:
                named = "" if text == host else f"{host} leads to a refused address: "
                raise AddressRefused(f"blocked: {named}{refusal}{_LISTED}")
        return found


class Egress:
    """Sends requests. Connections are kept for a moment and used again."""

    def __init__(self, allow: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._reach = Reach(allow)
        self._resolve = resolve or NameLookups()
        self._pools: dict[str, httpcore.AsyncConnectionPool] = {}
        self._opening = asyncio.Lock()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> Answer:
        """Send a request and wait for its whole answer, for so many seconds in all."""
        try:
            endpoint = read_url(url)
        except InvalidInput as error:
            return Answer(None, str(error))
        pool = await self._pool(endpoint.scheme)
        try:
            async with asyncio.timeout(timeout):
                return await _posted(pool, endpoint, headers, body, timeout)
        except TimeoutError:
            return Answer(None, f"no whole answer within {timeout:g} s")
        except AddressRefused as error:
            return Answer(None, str(error))
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            return Answer(None, f"cannot connect: {_reason(error)}")
        except AnswerTooLong:
            return Answer(None, f"more than {MOST_RECEIVED // 1024} KiB came, and no status")
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
            # What these errors say may quote the answer, which is not kept.
            return Answer(None, "the connection ended before a whole answer, or the answer was no HTTP")

    async def close(self) -> None:
        """Close all connections."""
        for pool in self._pools.values():
            await pool.aclose()
        self._pools.clear()

    async def _pool(self, scheme: str) -> httpcore.AsyncConnectionPool:
        async with self._opening:
            if scheme not in self._pools:
                is_plain = scheme == "http"
                self._pools[scheme] = httpcore.AsyncConnectionPool(
                    # Reading the authorities takes a while.
                    None if is_plain else await asyncio.to_thread(httpx.create_ssl_context),
                    max_connections=MOST_CONNECTIONS,
                    max_keepalive_connections=MOST_KEPT,
                    keepalive_expiry=KEPT_FOR,
                    network_backend=CheckedNetwork(self._reach, self._resolve, is_plain=is_plain),
                )
            return self._pools[scheme]


async def _posted(
    pool: httpcore.AsyncConnectionPool,
    endpoint: Endpoint,
    headers: Mapping[str, str],
    body: bytes,
    timeout: float,
) -> Answer:
    url = httpcore.URL(
        scheme=endpoint.scheme.encode(),
        host=endpoint.host.encode(),
        port=endpoint.port,
        target=endpoint.target.encode(),
    )
    sent = {"Host": endpoint.authority, **headers, "Content-Length": str(len(body))}
    async with pool.stream(
        "POST",
        url,
        headers=[(name.encode(), value.encode()) for name, value in sent.items()],
        content=body,
        extensions={"timeout": {"connect": timeout}},
    ) as response:
        read = 0
        async with aclosing(response.aiter_stream()) as parts:  # type: ignore[type-var]
            with suppress(AnswerTooLong):  # its status is known
                async for part in parts:
                    read += len(part)
                    if read >= MOST_READ:
                        break
        problem = _REDIRECTS if response.status in REDIRECTS else None
        return Answer(response.status, problem, _header(response, b"retry-after"))


def _header(response: httpcore.Response, name: bytes) -> str | None:
    for key, value in response.headers:
        if key.lower() == name:
            return value[:LONGEST_HEADER].decode("ascii", "replace")
    return None


def _reason(error: Exception) -> str:
    """Why a connection could not be made: what the system, or TLS, says of it."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return "it speaks no TLS that is understood"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return "it does not answer" if isinstance(error, httpcore.ConnectTimeout) else "refused"
