"""What a client makes of a server that says no, and of one that is none."""

import asyncio
import pickle
import socket
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tenure import (
    AsyncClient,
    Client,
    Conflict,
    InvalidInput,
    NotAllowed,
    Refused,
    RemoteError,
    State,
    TooMany,
    UnexpectedAnswer,
    Unreachable,
)
from tenure.core.reports.access import AuditEntry
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.problems import Refusal
from tests.ports import free_port
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import Api
from tests.surfaces.remote.restartable_server import ENDLESS, SLOWLY, answer, open_client, scripted

MADE = answer(202, b'{"jobId":"01a2b7f4-5a51-7c1e-9a4e-0d3a4c0c1f52","status":"queued"}')
SHORT = 3.0
"""Seconds for which clients try in vain."""


def refusing(kind: str, job_status: State | None = None, **headers: str) -> bytes:
    """The answer of a refusal."""
    refusal = Refusal(kind, job_status=job_status)
    sent = {"content_type": "application/problem+json", **headers}
    return answer(refusal.status, refusal.body(uuid4()), **sent)


async def test_a_key_that_opens_nothing_is_told_at_once(api: Api, store: Store, kind: str) -> None:
    """One that never was, one that was revoked, and one that opens something else."""
    mine = await make(store, "operate", "read")
    async with open_client(kind, api.server.url, key_text.mint().text) as stranger:
        with pytest.raises(NotAllowed) as refused:
            await stranger.create("mail")
        assert (refused.value.kind, refused.value.status) == ("unauthenticated", 401)
    async with open_client(kind, api.server.url, await make(store, "read")) as reader:
        with pytest.raises(NotAllowed) as refused:
            await reader.create("mail")
        assert (refused.value.kind, refused.value.status) == ("insufficient-scope", 403)
    async with open_client(kind, api.server.url, mine) as owner:
        await owner.create("mail")
        id = mine.split("_")[1]  # noqa: A001
        await store.revoke_key(id, AuditEntry(who="ann", action="keys revoke", target=id, request=uuid4()))
        with pytest.raises(NotAllowed):
            await owner.create("mail")


async def test_a_stream_ends_with_its_key(api: Api, store: Store, kind: str) -> None:
    mine = await make(store, "operate", "read")
    async with open_client(kind, api.server.url, mine) as owner:
        made = await owner.create("mail")
        following = owner.events(made)
        assert (await anext(following)).type == "queued"
        id = mine.split("_")[1]  # noqa: A001
        await store.revoke_key(id, AuditEntry(who="ann", action="keys revoke", target=id, request=uuid4()))
        await store.cancel([made.job_id])
        with pytest.raises(NotAllowed):
            await anext(following)


async def test_what_is_wrong_with_a_job_is_told_with_pointers(api: Api, kind: str) -> None:
    """S1.77: nothing is sent twice for it, and the server's words come whole."""
    async with open_client(kind, api.server.url) as client:
        with pytest.raises(Refused) as unknown:
            await client.create("nobody.knows")
        assert unknown.value.kind == "unknown-definition"
        with pytest.raises(Refused) as bad:
            await client.create("mail", {"to": 5, "cc": "x"})
        assert bad.value.kind == "invalid-params"
        assert {fault.pointer for fault in bad.value.errors} == {"/params/to", "/params/cc"}
        assert all(str(fault.pointer) in str(bad.value) for fault in bad.value.errors)
        with pytest.raises(Refused) as many:
            await client.create_many([client.new_job("mail"), client.new_job("mail", {"to": 5})])
        assert [fault.pointer for fault in many.value.errors] == ["/jobs/1/params/to"]
        assert [job async for job in client.list()] == []
        assert str(pickle.loads(pickle.dumps(bad.value))) == str(bad.value)  # noqa: S301


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (answer(200, b"<html>It works!</html>", content_type="text/html"), "200 with text/html"),
        (answer(404, b"<html>Not here</html>", content_type="text/html"), "404 with text/html"),
        (answer(200, b'{"made":"by somebody else"}'), "200 with application/json"),
        (answer(200, b"[" * 100_000), "200 with application/json"),
        (answer(400, b"{}", content_type="application/problem+json"), "400 with application/problem"),
        (answer(307, b"", location="http://elsewhere.example/"), "it redirects"),
        (answer(200, b"", content_length=str(10**9)) + ENDLESS, "more than 16,777,216 bytes"),
    ],
    ids=["page", "no page", "other JSON", "deep JSON", "other problem", "redirect", "huge"],
)
async def test_who_is_no_tenure_server_is_found_out_at_once(kind: str, said: bytes, reason: str) -> None:
    """And is asked once: no redirect is followed with the key."""
    async with scripted(said) as script, open_client(kind, script.url, key_text.mint().text) as client:
        with pytest.raises(UnexpectedAnswer, match=reason) as found:
            await client.create("mail")
        assert script.url in str(found.value)
        assert len(script.requests) == 1


async def test_a_stream_of_something_else_is_found_out(kind: str) -> None:
    stream: dict[str, str] = {"content_type": "text/event-stream", "content_length": str(10**9)}
    for said, reason in (
        (answer(200, b"data: {}\n\n", **stream), "an event that cannot be read"),
        (answer(200, b"", **stream) + ENDLESS, "an event that does not end"),
        (answer(200, b"{}"), "200 with application/json"),
    ):
        async with scripted(said) as script, open_client(kind, script.url) as client:
            with pytest.raises(UnexpectedAnswer, match=reason):
                await anext(client.events())


async def test_nobody_is_there(kind: str) -> None:
    """On a port where nobody listens: tried again until the time is over, and surely not done."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # so that nobody else can listen there
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with open_client(kind, url, timeout=SHORT) as client:
            with pytest.raises(Unreachable, match="ConnectError") as error:
                await client.create("mail")
            assert not error.value.unknown
            with pytest.raises(Unreachable):
                await anext(client.events())


async def test_who_never_answers_leaves_a_doubt(kind: str) -> None:
    async with scripted(None) as script, open_client(kind, script.url, timeout=SHORT) as client:
        with pytest.raises(Unreachable, match="may have done it") as error:
            await client.create("mail")
        assert error.value.unknown
        assert len(script.requests) >= 1
        with pytest.raises(Unreachable) as reading:
            await client.get(uuid4())
        assert not reading.value.unknown
        with pytest.raises(TimeoutError):
            await client.wait(uuid4(), timeout=0.1)


async def test_an_answer_that_does_not_end_is_none(kind: str) -> None:
    """Though something always comes: it is the whole that has to be there in time."""
    said = answer(202, b"", content_length=str(10**9)) + SLOWLY
    async with scripted(said) as script, open_client(kind, script.url, timeout=SHORT) as client:
        with pytest.raises(Unreachable, match="did not end in time"):
            await client.create("mail")


async def test_who_is_told_to_wait_waits_and_sends_the_same_again(kind: str) -> None:
    """429 and 503, also those of a proxy in HTML; the key of the job stays the same."""
    away = answer(502, b"<html>Bad Gateway</html>", content_type="text/html")
    busy = refusing("storage-unavailable", retry_after="1")
    often = refusing("too-many-requests", retry_after="1")
    loop = asyncio.get_running_loop()
    async with scripted(away, busy, often, MADE) as script, open_client(kind, script.url) as client:
        began = loop.time()
        assert str((await client.create("mail", {"to": "ada"})).job_id).startswith("01a2b7f4")
        assert loop.time() - began >= 2
    bodies = [msgspec.json.decode(request.partition(b"\r\n\r\n")[2]) for request in script.requests]
    assert len(bodies) == 4
    assert all(body == bodies[0] and body["idempotencyKey"] for body in bodies)


async def test_who_would_have_to_wait_too_long_is_told_so_at_once(kind: str) -> None:
    async with (
        scripted(refusing("quota", retry_after="3600")) as script,
        open_client(kind, script.url) as client,
    ):
        with pytest.raises(TooMany) as error:
            await client.create("mail")
    assert (error.value.kind, error.value.retry_after) == ("quota", 3600)
    async with (
        scripted(refusing("busy", retry_after="3600")) as script,
        open_client(kind, script.url) as client,
    ):
        with pytest.raises(Unreachable, match="no room"):
            await client.create("mail")
    assert len(script.requests) == 1


async def test_a_job_that_has_gone_on_since_the_answer_was_lost_was_released(kind: str) -> None:
    """Who asked first is told no: nothing is in doubt then."""
    lost, over = b"", refusing("job-terminal", State.SUCCEEDED)
    async with scripted(lost, over) as script, open_client(kind, script.url) as client:
        assert await client.release(uuid4()) is State.SUCCEEDED
        with pytest.raises(Conflict):
            await client.release(uuid4())
    async with scripted(lost, over) as script, open_client(kind, script.url) as client:
        with pytest.raises(Conflict) as conflict:
            await client.cancel(uuid4())
        assert conflict.value.in_doubt


async def test_a_bug_of_the_server_is_told_with_its_request(kind: str) -> None:
    async with scripted(refusing("internal")) as script, open_client(kind, script.url) as client:
        with pytest.raises(Refused, match="internal, request") as error:
            await client.get(uuid4())
    assert error.value.status == 500


@pytest.mark.parametrize(
    "url", ["", "jobs.example.com", "ftp://a", "http://", "http://u:p4ss@a", "http://a/?k=p4ss", None]
)
@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_an_address_that_is_none_is_refused_and_not_repeated(client: Any, url: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^url: ") as refused:
        client(url)
    assert "p4ss" not in str(refused.value)


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(InvalidInput, match=r"^timeout: "):
        Client(nobody, timeout=0)
    with Client(nobody, timeout=SHORT) as client:
        for asking, field in (
            (lambda: client.create("mail", tags="urgent"), "tags"),
            (lambda: client.create("mail", {"x": float("nan")}), "/x"),
            (lambda: client.get("nonsense"), "job"),
            (lambda: client.get(None), "job"),  # type: ignore[arg-type]
            (lambda: client.list(status="done"), "status"),
            (lambda: client.list(queue="no queue"), "queue"),
            (lambda: client.events(types="queued"), "types"),
            (lambda: client.events(after="a\r\nb"), "after"),
            (lambda: client.events(uuid4(), queue="q"), "job"),
        ):
            with pytest.raises(InvalidInput, match=f"^{field}: "):
                asking()


async def test_the_key_is_shown_by_nothing(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not even by the most talkative log; and one that was mistyped is not repeated."""
    key = key_text.mint().text
    caplog.set_level("DEBUG")
    said: list[str] = []
    async with scripted(answer(500, b"?"), refusing("internal")) as script:
        async with open_client(kind, script.url, key) as client:
            for _ in range(2):
                with pytest.raises(RemoteError) as error:
                    await client.get(uuid4())
                said += [str(error.value), repr(error.value), repr(vars(error.value))]
        assert all(f"Bearer {key}".encode() in request for request in script.requests)
    for made in (Client(script.url, key), AsyncClient(script.url, key)):
        said += [repr(made), repr(vars(made)), repr(vars(made._wire)), repr(vars(made._wire._server))]
    with pytest.raises(InvalidInput) as mistyped:
        Client(script.url, key[:-1])
    secret = key.split("_")[2][:-1]
    assert not [text for text in [*said, str(mistyped.value), caplog.text] if secret in text]
