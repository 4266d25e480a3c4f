"""The broker of a run: a server of SQS's protocol with one queue, all of which is lost when it is killed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.relay.messages.sqs_server import CREDENTIALS, SqsServer

NAME = "jobs"
READ_WITHIN = 90.0
"""Seconds within which a queue at rest is empty: messages of workers that were killed are hidden for long."""

HOUR = 3600
"""Seconds between two sweeps: too far apart for any run, so that only messages lead to jobs."""


class Broker:
    """Serves one queue."""

    def __init__(self) -> None:
        self._server = SqsServer()
        self._busy = asyncio.Lock()

    @property
    def url(self) -> str:
        """The address of the queue."""
        return f"http://127.0.0.1:{self._server.port}/123456789012/{NAME}"

    @property
    def variables(self) -> Mapping[str, str]:
        """What leads workers and servers here."""
        return {
            **self._server.variables,
            "TENURE_TRANSPORT": "sqs",
            "TENURE_SQS_QUEUE_URL": self.url,
            "TENURE_SWEEP_SECONDS": str(HOUR),
        }

    async def open(self) -> None:
        """Start it, with an empty queue."""
        await asyncio.to_thread(self._server.start)
        async with self._client() as client:
            await client.create_queue(QueueName=NAME)

    async def restart(self, seconds: float) -> bool:
        """Kill it, and have it back after so many seconds, empty; False if somebody else does that."""
        if self._busy.locked():
            return False
        async with self._busy:
            await asyncio.to_thread(self._server.stop)
            await asyncio.sleep(seconds)
            await self.open()
        return True

    async def left(self, *, waits_for_hidden: bool) -> list[str]:
        """The messages that nobody answers for, in words, once there was time to.

        Those that a worker had when it was killed come again after half a minute.
        """
        waiting = hidden = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(READ_WITHIN), self._client() as client:
                while True:
                    waiting, hidden = await self._backlog(client)
                    if not waiting and not (hidden and waits_for_hidden):
                        return []
                    await asyncio.sleep(0.2)
        return [f"{waiting} wait and {hidden} are hidden"]

    async def close(self) -> None:
        """End it."""
        await asyncio.to_thread(self._server.stop)

    async def _backlog(self, client: Any) -> tuple[int, int]:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        told = await client.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(names))
        waiting, hidden = (int(told["Attributes"][name]) for name in names)
        return waiting, hidden

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        from aiobotocore.session import get_session

        async with get_session().create_client(
            "sqs",
            endpoint_url=self._server.variables["AWS_ENDPOINT_URL_SQS"],
            region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        ) as client:
            yield client
