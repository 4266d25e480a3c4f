"""The way out, with names that resolve as a test says; nothing beyond this machine is ever connected to."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tenure.relay.answer import Answer
from tenure.relay.egress import MOST_READ, Egress
from tenure.relay.names import NameLookups
from tests.relay import receiver as receivers
from tests.relay.receiver import Receiver, answer, receiving
from tests.surfaces.remote.restartable_server import Certificate, listening

LOOPBACK = ["127.0.0.0/8"]


class Names:
    """Answers as a name server that gives a list to each question; counts what is asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        found = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if not found:
            raise OSError("Name or service not known")
        return found


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


async def _post(receiver: Receiver, names: Names, *, host: str = "hooks.test", timeout: float = 20) -> Answer:
    egress = Egress(LOOPBACK, names)
    try:
        url = receiver.url.replace("127.0.0.1", host)
        return await egress.post(f"{url}/in?a=1", {"webhook-id": "msg_1"}, b'{"a":1}', timeout)
    finally:
        await egress.close()


async def test_a_request_arrives_as_it_was_sent(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"])
    assert await _post(receiver, names) == Answer(200)
    [request] = receiver.requests
    assert (request.target, request.body, request.message) == ("/in?a=1", b'{"a":1}', "msg_1")
    assert request.headers["host"].startswith("hooks.test:")
    assert names.asked == ["hooks.test"]


@pytest.mark.parametrize(
    "found",
    [
        ["10.0.0.1"],
        ["127.0.0.1", "10.0.0.1"],
        ["10.0.0.1", "127.0.0.1"],
        ["127.0.0.1", "1.1.1.1"],
        ["127.0.0.1", "fe80::1%2"],
        ["::ffff:169.254.169.254"],
        ["2002:a9fe:a9fe::"],
    ],
)
async def test_every_address_of_a_name_must_pass_before_one_is_connected(
    receiver: Receiver, found: list[str]
) -> None:
    """S1.77: 1.1.1.1 may be reached, and not by plain http."""
    status, problem, _ = await _post(receiver, Names(found))
    assert status is None
    assert str(problem).startswith("blocked: hooks.test leads to a refused address: ")
    assert "TENURE_WEBHOOK_ALLOW" in str(problem)
    assert receiver.connections == 0


async def test_a_name_that_leads_elsewhere_the_next_time_is_judged_again(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    receiver.behave = answer(200, "Connection: close")
    egress = Egress(LOOPBACK, names)
    url = receiver.url.replace("127.0.0.1", "hooks.test")
    assert (await egress.post(url, {"webhook-id": "a"}, b"", 20)).status == 200
    assert str((await egress.post(url, {"webhook-id": "b"}, b"", 20)).problem).startswith("blocked")
    await egress.close()
    assert [one.message for one in receiver.requests] == ["a"]


async def test_a_connection_is_used_again(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"])
    egress = Egress(LOOPBACK, names)
    for n in range(3):
        assert (await egress.post(receiver.url, {"webhook-id": str(n)}, b"", 20)).status == 200
    await egress.close()
    assert (receiver.connections, len(names.asked), len(receiver.requests)) == (1, 1, 3)


async def test_the_next_address_is_tried_where_one_does_not_answer(receiver: Receiver) -> None:
    """Nothing listens on the first."""
    assert (await _post(receiver, Names(["127.0.0.99", "127.0.0.1"]))).status == 200


@pytest.mark.parametrize(
    ("found", "said"), [([], "cannot be resolved"), (["127.0.0.99"], "cannot connect: ")]
)
async def test_a_receiver_that_is_not_there_is_said_to_be_away(
    receiver: Receiver, found: list[str], said: str
) -> None:
    status, problem, _ = await _post(receiver, Names(found))
    assert status is None
    assert said in str(problem)


async def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver) -> None:
    receiver.behave = answer(302, "Location: http://169.254.169.254/latest")
    names = Names(["127.0.0.1"])
    status, problem, _ = await _post(receiver, names)
    assert (status, "not followed" in str(problem)) == (302, True)
    assert names.asked == ["hooks.test"]


async def test_proxies_of_the_environment_are_not_asked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await _post(receiver, Names(["127.0.0.1"]))).status == 200


async def test_when_to_try_again_is_kept_as_it_came_and_bounded(receiver: Receiver) -> None:
    receiver.behave = answer(429, f"Retry-After: {'9' * 500}")
    status, problem, retry_after = await _post(receiver, Names(["127.0.0.1"]))
    assert (status, problem) == (429, None)
    assert retry_after == "9" * 100


async def test_of_an_endless_answer_little_is_read(receiver: Receiver) -> None:
    written = 0

    async def count(_: receivers.Request, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            written += 65_536

    receiver.behave = count
    assert (await _post(receiver, Names(["127.0.0.1"]))).status == 200
    assert written < 400 * MOST_READ  # what the buffers of both ends take


def flooding(head: bytes, part: bytes) -> receivers.Behaviour:
    """Begins in this way, and goes on with the same part for ever."""

    async def flood(_: receivers.Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(part)
            await writer.drain()

    return flood


async def test_of_answers_before_the_answer_little_is_read(receiver: Receiver) -> None:
    """A client of HTTP reads past interim answers, however many come."""
    receiver.behave = flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
    status, problem, _ = await _post(receiver, Names(["127.0.0.1"]))
    assert (status, problem) == (None, "more than 256 KiB came, and no status")


async def test_a_body_in_the_smallest_pieces_is_an_answer(receiver: Receiver) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    receiver.behave = flooding(head, (b"1;" + b"x" * 1000 + b"\r\n.\r\n") * 10)
    assert (await _post(receiver, Names(["127.0.0.1"]))) == Answer(200)


@pytest.mark.parametrize("behave", [receivers.hang, receivers.drip])
async def test_an_answer_without_an_end_is_waited_for_as_long_as_was_said(
    receiver: Receiver, behave: receivers.Behaviour
) -> None:
    receiver.behave = behave
    assert await _post(receiver, Names(["127.0.0.1"]), timeout=0.3) == Answer(
        None, "no whole answer within 0.3 s"
    )


@pytest.mark.parametrize("behave", [receivers.reset, receivers.babble])
async def test_what_is_no_answer_is_said_without_a_word_of_it(
    receiver: Receiver, behave: receivers.Behaviour
) -> None:
    receiver.behave = behave
    status, problem, _ = await _post(receiver, Names(["127.0.0.1"]))
    assert status is None
    assert str(problem).startswith("the connection ended")
    assert "SECRET" not in str(problem)


async def test_a_hundred_thousand_headers_are_not_read(receiver: Receiver) -> None:
    receiver.behave = answer(200, *(f"X-{n}: 1" for n in range(100_000)))
    assert (await _post(receiver, Names(["127.0.0.1"]))).status is None


async def test_a_name_server_that_hangs_is_waited_for_as_long_as_was_said(receiver: Receiver) -> None:
    class Silent(Names):
        async def __call__(self, host: str, port: int) -> Sequence[str]:
            await asyncio.Event().wait()
            return []

    assert (await _post(receiver, Silent([]), timeout=0.2)).problem == "no whole answer within 0.2 s"


async def test_tls_proves_the_name_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.79: the address was checked, and the certificate belongs to the name."""
    certificate = Certificate(tmp_path, "DNS:hooks.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    receiver = Receiver()
    async with listening(receiver.serve, certificate.tls) as port:
        egress = Egress(LOOPBACK, Names(["127.0.0.1"]))
        right = await egress.post(f"https://hooks.test:{port}/", {"webhook-id": "a"}, b"", 20)
        wrong = await egress.post(f"https://other.test:{port}/", {"webhook-id": "b"}, b"", 20)
        monkeypatch.delenv("SSL_CERT_FILE")
        stranger = Egress(LOOPBACK, Names(["127.0.0.1"]))
        unknown = await stranger.post(f"https://hooks.test:{port}/", {"webhook-id": "c"}, b"", 20)
        await stranger.close()
        await egress.close()
    assert right.status == 200
    assert str(wrong.problem).startswith("cannot connect: its certificate is not valid: ")
    assert str(unknown.problem).startswith("cannot connect: its certificate is not valid: ")
    assert [one.message for one in receiver.requests] == ["a"]


async def test_a_receiver_that_speaks_no_tls_is_said_to() -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    egress = Egress(LOOPBACK, Names(["127.0.0.1"]))
    async with listening(refuse) as port:
        answered = await egress.post(f"https://hooks.test:{port}/", {}, b"", 20)
    await egress.close()
    assert answered.problem == "cannot connect: it speaks no TLS that is understood"


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
async def test_an_address_written_in_another_way_is_not_even_resolved(receiver: Receiver, host: str) -> None:
    names = Names(["127.0.0.1"])
    assert "four decimal numbers" in str((await _post(receiver, names, host=host)).problem)
    assert not names.asked


async def test_the_system_is_asked_once_for_those_who_ask_together() -> None:
    """An address in numbers is answered without any name server."""
    lookups = NameLookups()
    first, second = await asyncio.gather(lookups("127.0.0.1", 80), lookups("127.0.0.1", 80))
    assert first is second
    assert first == ["127.0.0.1"]
    with pytest.raises(OSError, match=r"."):
        await lookups("no.such.name.invalid", 80)
