"""SQS as a transport: what is sent comes, is hidden while it is worked on, and is gone once acknowledged."""

import os
import sys

import pytest

from tenure.core.errors import InvalidInput
from tenure.relay.messages import sqs
from tenure.relay.messages.sqs import SqsTransport, open_sqs
from tenure.relay.messages.transport import TransportFailed
from tests.relay.messages.sqs_server import Queue, new_queue, pointed_at, running_server

URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs"


async def test_what_is_sent_comes_until_it_is_acknowledged(queue: Queue) -> None:
    """S2.4: a message triggers an attempt; it may come again."""
    transport = queue.transport
    assert not await transport.send([b"one", b"two"])

    first = await transport.receive(10, wait=1, hide_for=60)
    assert sorted(one.body for one in first) == [b"one", b"two"]
    assert all(one.age is not None and one.age >= 0 for one in first)
    assert await transport.receive(10, wait=0, hide_for=60) == []

    await transport.hide([one.receipt for one in first], 0)
    again = await transport.receive(10, wait=1, hide_for=60)
    assert sorted(one.body for one in again) == [b"one", b"two"]

    await transport.acknowledge([one.receipt for one in again])
    await transport.hide([one.receipt for one in again], 0)
    assert await transport.receive(10, wait=0, hide_for=60) == []


async def test_more_than_a_batch_is_acknowledged_in_batches(queue: Queue) -> None:
    for _ in range(3):
        await queue.transport.send([b"x"] * 10)
    receipts: list[str] = []
    while got := await queue.transport.receive(10, wait=0, hide_for=60):
        receipts += [one.receipt for one in got]
    assert len(receipts) == 30
    await queue.transport.hide(receipts, 120)
    await queue.transport.acknowledge(receipts)
    backlog = await queue.transport.backlog()
    assert (backlog.waiting, backlog.hidden) == (0, 0)


async def test_the_backlog_tells_what_waits_and_what_is_hidden(queue: Queue) -> None:
    await queue.transport.send([b"x"] * 5)
    await queue.transport.receive(2, wait=1, hide_for=60)
    backlog = await queue.transport.backlog()
    assert backlog.waiting + backlog.hidden == 5
    assert backlog.hidden >= 1


async def test_an_expired_receipt_does_no_harm(queue: Queue) -> None:
    """S2.31: whoever was too slow neither fails nor removes what another has got since."""
    await queue.transport.send([b"x"])
    [slow] = await queue.transport.receive(1, wait=1, hide_for=60)
    await queue.transport.hide([slow.receipt], 0)
    [quick] = await queue.transport.receive(1, wait=1, hide_for=60)
    await queue.transport.acknowledge([quick.receipt])
    await queue.transport.acknowledge([slow.receipt])
    await queue.transport.hide([slow.receipt], 30)


async def test_a_server_that_is_away_is_a_failure_of_the_transport(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqs, "CONNECT_WITHIN", 1)
    with running_server() as server, pointed_at(server):
        async with new_queue(server) as queue:
            server.stop()
            with pytest.raises(TransportFailed, match="send_message_batch"):
                await queue.transport.send([b"x"])


class BusyClient:
    """What the SDK gives where SQS takes only some messages of a batch, which moto always takes whole."""

    async def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803
        failed = {"SenderFault": False, "Code": "InternalError", "Message": f"try again on {QueueUrl}"}
        return {
            "Successful": [{"Id": one["Id"], "MessageId": "m"} for one in Entries[::2]],
            "Failed": [{"Id": one["Id"], **failed} for one in Entries[1::2]],
        }


async def test_what_sqs_refuses_of_a_batch_is_told_by_its_place() -> None:
    assert await SqsTransport(BusyClient(), URL, ()).send([b"x"] * 5) == [1, 3]


async def test_a_queue_that_does_not_exist_is_a_failure_too(queue: Queue) -> None:
    async with open_sqs(f"{queue.url}-elsewhere") as transport:
        with pytest.raises(TransportFailed, match=r"NonExistentQueue|does not exist"):
            await transport.send([b"x"])


async def test_the_address_of_the_queue_tells_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another one is set: there SQS would say that there is no such queue."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    async with open_sqs(URL) as transport:
        assert transport._client.meta.region_name == "eu-central-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    async with open_sqs(URL) as transport:
        assert transport._client.meta.region_name == "eu-central-1"
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(InvalidInput, match="AWS_DEFAULT_REGION"):
        async with open_sqs("http://localhost:9324/000000000000/jobs"):
            pass


async def test_without_the_sdk_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiobotocore.session", None)
    with pytest.raises(InvalidInput, match="pip install 'aiobotocore"):
        async with open_sqs(URL):
            pass
