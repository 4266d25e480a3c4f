"""Requests that are huge, slow, garbled or without end are refused in time, and cost others nothing."""

import asyncio

import pytest

from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app import request_body
from tests.storage.verbs import EVERY_JOB
from tests.surfaces.http.http_server import Api, register, request, serving
from tests.surfaces.store_behind import MAIL

JSON = {"Content-Type": "application/json"}
LIMIT = 2**20
HASTY = HttpLimits(http_head_seconds=0.3, http_body_seconds=0.3, http_rest_seconds=0.3)


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_read(api: Api) -> None:
    """Row 11: no byte of the body is sent, and none is asked for."""
    for extra in ({}, {"Expect": "100-continue"}):
        reply = await api.send(request(headers={**JSON, **extra, "Content-Length": str(LIMIT + 1)}))
        assert (reply.status, reply.kind) == (413, "too-large")
        assert reply.headers["connection"] == "close"


async def test_who_sends_on_regardless_still_hears_why(api: Api) -> None:
    """A reset would overtake the answer; the rest is read into nothing for a moment instead."""
    async with api.wire() as wire:
        await wire.send(request(headers={**JSON, "Content-Length": str(8 * LIMIT)}))
        for _ in range(64):
            await wire.send(b"x" * 65_536)
        assert (await wire.reply()).status == 413


async def test_a_body_within_the_limit_is_asked_for_and_taken(api: Api) -> None:
    async with api.wire() as wire:
        body = b'{"definitionKey":"mail"}'
        await wire.send(request(headers={**JSON, "Expect": "100-continue", "Content-Length": str(len(body))}))
        assert (await wire.reply()).status == 100
        await wire.send(body)
        assert (await wire.reply()).status == 202


async def test_a_chunked_body_that_grows_past_the_limit_is_cut_off(api: Api) -> None:
    """Row 12."""
    async with api.wire() as wire:
        await wire.send(request(headers={**JSON, "Transfer-Encoding": "chunked"}))
        for _ in range(LIMIT // 65_536 + 1):
            await wire.send(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        reply = await wire.reply()
        assert (reply.status, reply.kind) == (413, "too-large")
        assert await wire.is_closed()


async def test_large_bodies_have_a_room_and_give_it_back(store: Store) -> None:
    """What is held of bodies on their way is bounded, and usual ones do not count."""
    await register(store, MAIL)
    body = b'{"definitionKey":"mail"}' + b" " * (LIMIT - 100)
    async with serving(store, limits=HttpLimits(http_large_bodies=LIMIT // 2)) as api:
        for _ in range(3):
            reply = await api.send(request(headers=JSON, body=body))
            assert (reply.status, reply.kind) == (503, "busy")
            assert (await api.send(request(headers=JSON, body=body[: LIMIT // 2]))).status == 202
    async with serving(store, limits=HttpLimits(http_large_bodies=0)) as api:
        assert (await api.send(request(headers=JSON, body=body[: request_body.FREE]))).status == 202


async def test_a_chunked_body_is_taken(api: Api) -> None:
    body = b'{"definitionKey":"mail"}'
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    reply = await api.send(request(headers={**JSON, "Transfer-Encoding": "chunked"}, body=chunks))
    assert reply.status == 202


async def test_a_body_that_is_packed_on_its_way_is_not_unpacked(api: Api) -> None:
    """Row 14, by the other header: chunks are all that is taken apart."""
    chunks = b"2\r\n{}\r\n0\r\n\r\n"
    for coding in ("gzip, chunked", "deflate,chunked", "chunked, chunked"):
        reply = await api.send(request(headers={**JSON, "Transfer-Encoding": coding}, body=chunks))
        assert reply.status in {400, 415}, coding
        assert reply.kind in {"malformed-request", "unsupported-media-type"}
    reply = await api.send(request(headers={**JSON, "Transfer-Encoding": "Chunked"}, body=chunks))
    assert (reply.status, reply.kind) == (422, "validation")


@pytest.mark.parametrize(
    "begun",
    [b"GET /healthz HTTP/1.1\r\nX: y", request(headers={**JSON, "Content-Length": "100"}) + b'{"def'],
    ids=["head", "body"],
)
async def test_a_request_that_comes_too_slowly_is_given_up(store: Store, begun: bytes) -> None:
    """Row 13: by the time of the whole, however steadily its bytes come."""
    async with serving(store, limits=HASTY, drain_seconds=0.3) as api, api.wire() as wire:
        await wire.send(begun)

        async def drip() -> None:
            while True:
                await wire.send(b"x")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        reply = await wire.reply()
        dripping.cancel()
        assert (reply.status, reply.kind) == (408, "request-timeout")
        assert await wire.is_closed()


async def test_a_connection_that_says_nothing_is_closed_without_a_word(store: Store) -> None:
    async with serving(store, limits=HASTY, drain_seconds=0.3) as api, api.wire() as wire:
        assert await wire.is_closed()
        async with api.wire() as kept:
            await kept.send(request("GET", "/healthz"))
            assert (await kept.reply()).status == 200
            assert await kept.is_closed()


async def test_slow_clients_take_no_place_from_others(store: Store) -> None:
    """Row 13: many more than there are places, and everybody else is served."""
    async with serving(store, limits=HttpLimits(http_connections=8)) as api:
        slow = [await asyncio.open_connection(*api.address) for _ in range(64)]
        for _, writer in slow:
            writer.write(b"POST /v1/jobs HT")
        for _ in range(4):
            assert (await api.send(request("GET", "/healthz"))).status == 200
        for _, writer in slow:
            writer.close()


GARBLED = {
    "both lengths": request(headers={**JSON, "Content-Length": "5", "Transfer-Encoding": "chunked"}),
    "two lengths": request(headers={**JSON, "Content-Length": "2"}).replace(
        b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\n"
    ),
    "a negative length": request(headers={**JSON, "Content-Length": "-1"}),
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
    "an unknown method": request("FROB", "/v1/jobs"),
    "a bad chunk": request(headers={**JSON, "Transfer-Encoding": "chunked"}, body=b"zz\r\n"),
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "no host": b"GET /v1/jobs HTTP/1.1\r\n\r\n",
    "no host beside a whole address": b"GET http://localhost/v1/jobs HTTP/1.1\r\n\r\n",
    "two hosts beside a whole address": request("GET", "http://localhost/v1/jobs", {"Host": "a\r\nHost: b"}),
    "a whole address without a host": request("GET", "http:///v1/jobs"),
    "a whole address with a user": request("GET", "http://localhost@evil.example/v1/jobs"),
    "a whole address without a path": request("GET", "http://localhost"),
    "an address of another kind": request("GET", "ftp://localhost/v1/jobs"),
    "an older HTTP": b"GET /healthz HTTP/0.9\r\nHost: localhost\r\n\r\n",
    "no HTTP behind the address": b"GET /healthz\r\n\r\n",
    "a newer HTTP": b"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "a newer HTTP to begin with": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another protocol": b"GET /healthz RTSP/1.0\r\nHost: localhost\r\n\r\n",
    "one more space": b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an HTTP that there is not": b"GET /healthz HTTP/1.7\r\nHost: localhost\r\n\r\n",
    "two hosts": b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
}


async def test_what_is_not_http_is_refused(api: Api) -> None:
    """Row 15, and its neighbours."""
    replies = {name: await api.send(data) for name, data in GARBLED.items()}
    assert {name: (reply.status, reply.kind) for name, reply in replies.items()} == dict.fromkeys(
        GARBLED, (400, "malformed-request")
    )
    assert (await api.get("/healthz")).status == 200


async def test_the_first_line_counts_however_it_arrives(api: Api) -> None:
    """Byte by byte, or behind another request; HTTP/1.0 is taken, too."""
    old = b"GET /healthz HTTP/1.0\r\n\r\n"
    for whole, status in ((GARBLED["another protocol"], 400), (old, 200)):
        async with api.wire() as wire:
            for n in range(len(whole)):
                await wire.send(whole[n : n + 1])
                await asyncio.sleep(0)
            assert (await wire.reply()).status == status
    async with api.wire() as wire:
        await wire.send(request(headers=JSON, body=b'{"definitionKey":"mail"}') + GARBLED["another protocol"])
        assert (await wire.reply()).status == 202
        assert await wire.is_closed()


async def test_after_a_garbled_request_nothing_more_is_read(api: Api) -> None:
    """Row 15: what follows could be somebody's idea of another request."""
    async with api.wire() as wire:
        await wire.send(GARBLED["both lengths"] + b"0\r\n\r\n" + request("GET", "/healthz"))
        assert (await wire.reply()).status == 400
        assert await wire.is_closed()


async def test_what_is_garbled_behind_a_request_takes_nothing_from_it(api: Api) -> None:
    """Its job is recorded, and the client is told so; then the connection is closed."""
    body = b'{"definitionKey":"mail"}'
    for rest in (b"\x00\x01", b"FROB", b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"POST /v1/jo"):
        async with api.wire() as wire:
            await wire.send(request("GET", "/healthz") + request(headers=JSON, body=body) + rest)
            assert (await wire.reply()).status == 200
            assert (await wire.reply()).status == 202
            if rest != b"POST /v1/jo":  # which may still become a request
                assert await wire.is_closed()
    assert len((await api.get("/v1/jobs")).json["items"]) == 4


OVERSIZED = {
    "one large header": (request(headers={"X": "x" * 17_000}), 431),
    "many bytes in all": (request(headers={f"X-{n}": "x" * 900 for n in range(20)}), 431),
    "a header without end": (request("GET", "/healthz")[:-4] + b"\r\nX: " + b"x" * 40_000, 431),
    "many headers": (request(headers={f"X-{n}": "x" for n in range(101)}), 431),
    "a long address": (request("GET", "/v1/jobs?tag=" + "x" * 9000), 414),
    "an address without end": (b"GET /" + b"x" * 40_000, 414),
}


async def test_heads_are_bounded(api: Api) -> None:
    """Row 16."""
    replies = {name: await api.send(data) for name, (data, _) in OVERSIZED.items()}
    assert {name: reply.status for name, reply in replies.items()} == {
        name: status for name, (_, status) in OVERSIZED.items()
    }
    assert {reply.kind for reply in replies.values()} == {"headers-too-large", "uri-too-long"}


async def test_requests_may_follow_each_other_at_once(api: Api) -> None:
    async with api.wire() as wire:
        await wire.send(request("GET", "/healthz") * 3 + request("GET", "/nope"))
        assert [(await wire.reply()).status for _ in range(4)] == [200, 200, 200, 404]


async def test_who_leaves_in_the_middle_of_a_body_leaves_nothing(api: Api, store: Store) -> None:
    """Row 19."""
    async with api.wire() as wire:
        await wire.send(request(headers={**JSON, "Content-Length": "100"}) + b'{"definitionKey":"mail"')
    assert (await api.get("/v1/jobs")).json["items"] == []
    assert not api.bugs


async def test_who_leaves_before_the_answer_may_ask_again(api: Api, store: Store) -> None:
    """Row 19: whatever became of the request that nobody waited for, with its key there is one job."""
    body = b'{"definitionKey":"mail","idempotencyKey":"k"}'
    for _ in range(5):
        async with api.wire() as wire:
            await wire.send(request(headers=JSON, body=body))
    replies = [await api.send(request(headers=JSON, body=body)) for _ in range(2)]
    assert [reply.status for reply in replies] == [202, 202]
    assert [str(job.id) for job in (await store.page(EVERY_JOB)).jobs] == [replies[0].json["jobId"]]
    assert not api.bugs
