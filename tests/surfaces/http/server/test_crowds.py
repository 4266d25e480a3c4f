"""Crowds of clients who say half of what they want cost nobody else anything."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.connection_limit import RESERVE
from tests.surfaces.http.auth.test_keys import bearing, make
from tests.surfaces.http.crowds import ELSEWHERE, ask, crowd, probe
from tests.surfaces.http.http_server import PATIENCE, Api, Reply, Wire, register, request, serving
from tests.surfaces.store_behind import MAIL
from tests.until import until
from tests.whole import IS_WHOLE

CROWD = 5000 if IS_WHOLE else 2000
"""Several times as many as there are places."""

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://localhost"}
JOB = b'{"definitionKey":"mail"}'
HALF_A_JOB = request(headers={**JSON, "Content-Length": "100"}) + b'{"def'
HALF_A_LOGIN = request("POST", "/login", {**FORM, "Content-Length": "100"}) + b"key=tnr"
WISH = b'{"jobType":"mail","payload":{"to":"ada"},"idempotencyKey":"k"}'


@pytest.mark.parametrize("sent", [HALF_A_JOB, HALF_A_LOGIN], ids=["no key", "login"])
async def test_thousands_of_half_sent_bodies_cost_others_nothing(store: Store, sent: bytes) -> None:
    """Row 13: while they come and when all are there, whoever else comes is answered, from anywhere."""
    await register(store, MAIL)
    key = {"Authorization": f"Bearer {await make(store, 'operate')}"}
    job = request(headers={**JSON, **key}, body=JOB)
    async with serving(store, routes=(*ROUTES, *PAGES)) as api, crowd(api, sent) as gathered:
        growing = gathered.grow(CROWD)
        rounds = 0
        while rounds < 5:
            rounds += growing.done()
            for source in ("127.0.0.1", ELSEWHERE):
                assert (await ask(api, job, source)).status == 202
                assert (await ask(api, probe(), source)).status == 200
        await growing
        assert not api.bugs


async def test_on_a_store_without_keys_they_cost_nothing_either(api: Api) -> None:
    async with crowd(api, HALF_A_JOB) as gathered:
        await gathered.grow(600)
        for source in ("127.0.0.1", ELSEWHERE):
            assert (await ask(api, request(headers=JSON, body=JOB), source)).status == 202
            assert (await ask(api, probe("/readyz"), source)).status == 200


async def test_who_is_not_known_has_little_time_for_a_body(store: Store) -> None:
    """Row 13: and who is known has more."""
    await register(store, MAIL)
    key = await make(store, "submit")
    limits = HttpLimits(http_head_seconds=1.0)
    async with serving(store, limits=limits, routes=(*ROUTES, *PAGES)) as api, api.wire() as known:
        head = {**JSON, "Authorization": f"Bearer {key}", "Content-Length": str(len(WISH))}
        await known.send(request("POST", "/jobs", {**head, "Expect": "100-continue"}))
        assert (await known.reply()).status == 100  # so that it is known before its little time is over
        await known.send(WISH[:1])
        reply = await api.send(HALF_A_LOGIN)
        assert reply.status == 408
        await known.send(WISH[1:])
        assert (await known.reply()).status == 202


async def test_a_body_of_who_is_known_outlasts_a_crowd(store: Store) -> None:
    """Others make room first, however long it has been on its way."""
    await register(store, MAIL)
    key = await make(store, "submit")
    head = {**JSON, "Authorization": f"Bearer {key}", "Content-Length": str(len(WISH))}
    async with serving(store, limits=HttpLimits(http_connections=8)) as api, api.wire() as known:
        await known.send(request("POST", "/jobs", {**head, "Expect": "100-continue"}))
        assert (await known.reply()).status == 100  # so that it is known
        for sent in (b"", b"POST /jobs HT", HALF_A_JOB):
            async with crowd(api, sent) as gathered:
                await gathered.grow(4 * RESERVE)
                assert (await ask(api, probe())).status == 200
        await known.send(WISH)
        assert (await known.reply()).status == 202


async def test_one_peer_has_half_of_the_places(store: Store) -> None:
    """What one has taken is missing to itself alone."""
    key = await make(store, "read")
    listing = request("GET", "/v1/jobs", {"Authorization": f"Bearer {key}"})
    async with serving(store, limits=HttpLimits(http_connections=4)) as api, at_work(api, key, 2):
        assert is_busy(await ask(api, listing))
        assert (await ask(api, listing, ELSEWHERE)).status == 200


async def test_behind_a_proxy_that_is_trusted_its_header_tells_peers_apart(store: Store) -> None:
    """Its own connections are everybody's; what stands before its word anybody may have written."""
    key = await make(store, "read")
    bearer = {"Authorization": f"Bearer {key}"}

    def listing(client: str) -> bytes:
        return request("GET", "/v1/jobs", {**bearer, "X-Forwarded-For": f"198.51.100.9, {client}"})

    limits = HttpLimits(http_connections=4)
    async with (
        serving(store, limits=limits, trusted_proxies=["127.0.0.1/32"]) as api,
        at_work(api, key, 2, **{"X-Forwarded-For": "203.0.113.7"}),
    ):
        for client in ("203.0.113.7", "203.0.113.7:4711", "203.0.113.7, 127.0.0.1"):
            assert is_busy(await ask(api, listing(client))), client
        for client in ("203.0.113.8", "[2001:db8::1]:4711", "nobody", "198.51.100.9"):
            assert (await ask(api, listing(client))).status == 200, client


async def test_without_trust_no_header_of_a_proxy_is_believed(store: Store) -> None:
    key = await make(store, "read")
    sent = {"Authorization": f"Bearer {key}", "X-Forwarded-For": "203.0.113.8"}
    async with serving(store, limits=HttpLimits(http_connections=4)) as api, at_work(api, key, 2):
        assert is_busy(await ask(api, request("GET", "/v1/jobs", sent)))


async def test_bad_keys_count_against_who_has_sent_them_by_a_proxy(store: Store) -> None:
    """Not against everybody who comes by the same one."""
    await make(store, "read")
    async with serving(store, trusted_proxies=["127.0.0.1"]) as api:
        guess = {"headers": {"authorization": "Bearer nonsense", "x-forwarded-for": "203.0.113.7"}}

        async def is_put_off() -> bool:
            return (await api.get("/v1/jobs", **guess)).status == 429

        await until(is_put_off)
        guess["headers"]["x-forwarded-for"] = "203.0.113.8"
        assert (await api.get("/v1/jobs", **guess)).status == 401


async def test_where_every_place_is_at_work_probes_are_answered_and_others_come_back(store: Store) -> None:
    """Whoever watches a busy server must not take it for a dead one."""
    key = await make(store, "read")
    listing = request("GET", "/v1/jobs", {"Authorization": f"Bearer {key}"})
    async with (
        serving(store, limits=HttpLimits(http_connections=4)) as api,
        at_work(api, key, 2),
        at_work(api, key, 2, ELSEWHERE),
    ):
        for source in ("127.0.0.1", ELSEWHERE, "127.0.0.3"):
            assert is_busy(await ask(api, listing, source))
            for path in ("/healthz", "/readyz"):
                assert (await ask(api, probe(path), source)).status == 200
        async with crowd(api, b"") as gathered:
            await gathered.grow(2 * RESERVE)
            assert (await ask(api, probe())).status == 200


async def test_who_does_not_read_makes_room(store: Store) -> None:
    """Whoever asks without a key for much that it does not take."""
    limits = HttpLimits(http_connections=1, http_write_seconds=3600)
    async with serving(store, limits=limits) as api, AsyncExitStack() as ends:
        for _ in range(2 * RESERVE):
            await ends.enter_async_context(not_reading(api))

        async def is_answered() -> bool:
            return (await ask(api, request("GET", "/docs"))).status == 200

        # As long as the system takes what is written, it cannot be told from what is read.
        await until(is_answered)


async def test_a_client_that_does_not_read_loses_its_connection(store: Store) -> None:
    """What it does not take is not kept for ever."""
    async with serving(store, limits=HttpLimits(http_write_seconds=0.3)) as api, not_reading(api) as deaf:
        with pytest.raises(ConnectionError):
            await asyncio.wait_for(_ask_on_and_on(deaf), PATIENCE)


async def _ask_on_and_on(deaf: socket.socket) -> None:
    while True:
        await asyncio.get_running_loop().sock_sendall(deaf, request("GET", "/openapi.json"))


def is_busy(reply: Reply) -> bool:
    """Whether a client is told to come back."""
    is_told = reply.headers["connection"] == "close" and reply.headers["retry-after"].isdecimal()
    return is_told and (reply.status, reply.kind) == (503, "busy")


@asynccontextmanager
async def at_work(
    api: Api, key: str, number: int, source: str = "127.0.0.1", **headers: str
) -> AsyncIterator[None]:
    """Requests under way for as long as the block lasts: streams in which nothing happens."""
    wanted = {"Accept": "text/event-stream", **bearing(key)["headers"], **headers}
    async with AsyncExitStack() as ends:
        for _ in range(number):
            wire = Wire(*await asyncio.open_connection(*api.address, local_addr=(source, 0)))
            ends.push_async_callback(wire.close)
            await wire.send(request("GET", "/v1/events", wanted))
            assert (await wire.reply_to_head()).status == 200
        yield


@asynccontextmanager
async def not_reading(api: Api) -> AsyncIterator[socket.socket]:
    """Somebody who is being answered and reads only the beginning."""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(api.address)
        deaf.sendall(request("GET", "/openapi.json") * 200)
        deaf.setblocking(False)
        await asyncio.get_running_loop().sock_recv(deaf, 1)
        yield deaf
