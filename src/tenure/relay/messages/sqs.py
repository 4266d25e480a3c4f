"""Amazon SQS as the transport, by aiobotocore.

Endpoint and credentials are found as the SDK finds them: environment, profile, role of the machine. So is the
region, unless the address of the queue names it: it lies in no other.
SQS hides a message for 12 hours at most, counted from when it was received: that of a job which runs for
longer comes again, finds the job owned and is removed.
"""

import re
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tenure.core.errors import InvalidInput
from tenure.core.values.extras import installation
from tenure.relay.messages.transport import MOST_AT_ONCE, Backlog, Received, TransportFailed

CONNECT_WITHIN, ANSWER_WITHIN = 5, 30
"""Seconds; an answer to a long poll takes up to 20."""

LONGEST_POLL = 20
LONGEST_HIDDEN = 43_200

_AMAZON = re.compile(r"https?://sqs\.([a-z0-9-]+)\.amazonaws\.")
_SENT = "SentTimestamp"
_WAITING, _HIDDEN = "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"


class SqsTransport:
    """One queue, through an open client of the SDK."""

    def __init__(self, client: Any, url: str, errors: tuple[type[Exception], ...]) -> None:
        """`errors` are what the SDK raises where SQS refuses, or cannot be reached."""
        self._client = client
        self._url = url
        self._errors = errors

    async def send(self, bodies: Sequence[bytes]) -> Collection[int]:
        """Send up to ten messages, which SQS takes one by one; returns the places of those it has not."""
        entries = [{"Id": str(n), "MessageBody": body.decode()} for n, body in enumerate(bodies)]
        answer = await self._call("send_message_batch", Entries=entries)
        taken = {one["Id"] for one in answer.get("Successful", ())}
        return [n for n in range(len(bodies)) if str(n) not in taken]

    async def receive(self, most: int, *, wait: float, hide_for: float) -> list[Received]:
        """Take up to ten messages by a long poll."""
        answer = await self._call(
            "receive_message",
            MaxNumberOfMessages=min(most, MOST_AT_ONCE),
            WaitTimeSeconds=min(round(wait), LONGEST_POLL),
            VisibilityTimeout=_whole_seconds(hide_for),
            AttributeNames=[_SENT],
        )
        return [_received(one) for one in answer.get("Messages", ())]

    async def acknowledge(self, receipts: Sequence[str]) -> None:
        """Delete messages; one whose receipt has expired comes again, and is deleted then."""
        for some in _batches(receipts):
            await self._call("delete_message_batch", Entries=_entries(some))

    async def hide(self, receipts: Sequence[str], seconds: float) -> None:
        """Change how long messages are hidden; those whose receipts have expired are left as they are."""
        hidden = _whole_seconds(seconds)
        for some in _batches(receipts):
            entries = [{**entry, "VisibilityTimeout": hidden} for entry in _entries(some)]
            await self._call("change_message_visibility_batch", Entries=entries)

    async def backlog(self) -> Backlog:
        """What SQS says of the queue, which is approximate."""
        answer = await self._call("get_queue_attributes", AttributeNames=[_WAITING, _HIDDEN])
        said = answer.get("Attributes", {})
        return Backlog(int(said.get(_WAITING, 0)), int(said.get(_HIDDEN, 0)))

    async def _call(self, operation: str, **given: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await getattr(self._client, operation)(QueueUrl=self._url, **given)
        except self._errors as error:
            raise TransportFailed(f"SQS, {operation}: {_said(error)}"[:1000]) from error
        return answer


@asynccontextmanager
async def open_sqs(url: str) -> AsyncIterator[SqsTransport]:
    """The queue at this URL. That it can be reached is found out by the first call."""
    try:
        from aiobotocore.config import AioConfig
        from aiobotocore.session import get_session
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        problem = "is sqs, and the package aiobotocore is not installed"
        raise InvalidInput("transport", problem, installation("sqs")) from None
    config = AioConfig(
        connect_timeout=CONNECT_WITHIN,
        read_timeout=ANSWER_WITHIN,
        retries={"max_attempts": 2, "mode": "standard"},
        max_pool_connections=20,
    )
    session = get_session()
    region = _region_in(url) or session.get_config_variable("region")
    creating = session.create_client("sqs", region_name=region, config=config)
    try:
        client = await creating.__aenter__()
    except BotoCoreError as error:
        remedy = "set AWS_DEFAULT_REGION, or choose a profile by AWS_PROFILE"
        raise InvalidInput("transport", f"is sqs, but the SDK cannot be set up: {error}", remedy) from None
    try:
        yield SqsTransport(client, url, (BotoCoreError, ClientError, OSError, TimeoutError))
    finally:
        await creating.__aexit__(None, None, None)


def _said(error: Exception) -> str:
    """What the SDK says; of an answer of SQS its own words, and the code that its documentation lists."""
    answer = getattr(error, "response", {}).get("Error", {})
    if not answer.get("Message"):
        return str(error)
    return f"{answer['Message'].rstrip('.')} ({answer.get('Code', 'without a code')})"


def _received(one: dict[str, Any]) -> Received:
    sent = one.get("Attributes", {}).get(_SENT)
    age = None if sent is None else max(0.0, time.time() - int(sent) / 1000)
    return Received(one["Body"].encode(errors="replace"), one["ReceiptHandle"], age)


def _region_in(url: str) -> str | None:
    """The region that the address of a queue names; None if it is not one of Amazon's."""
    found = _AMAZON.match(url)
    return found[1] if found else None


def _entries(receipts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"Id": str(n), "ReceiptHandle": receipt} for n, receipt in enumerate(receipts)]


def _batches(receipts: Sequence[str]) -> list[Sequence[str]]:
    return [receipts[n : n + MOST_AT_ONCE] for n in range(0, len(receipts), MOST_AT_ONCE)]


def _whole_seconds(seconds: float) -> int:
    return min(max(0, round(seconds)), LONGEST_HIDDEN)
