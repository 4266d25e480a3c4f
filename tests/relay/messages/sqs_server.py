"""moto's server: speaks SQS's own protocol, in a process of its own; and queues on it, for tests."""

import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tenure.relay.messages.sqs import SqsTransport, open_sqs

ROOT = Path(__file__).parents[3]
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "eu-west-1",
}


class SqsServer:
    """A server that can be stopped and started again at the same port; its queues are gone then."""

    def __init__(self) -> None:
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """What leads the SDK of a process here."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL_SQS": f"http://127.0.0.1:{self.port}"}

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.relay.messages.moto_server", str(self.port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Queue(NamedTuple):
    """A queue of the server, and a transport on it."""

    url: str
    transport: SqsTransport
    client: Any

    async def put(self, *bodies: str) -> None:
        """Put any text into the queue."""
        for body in bodies:
            await self.client.send_message(QueueUrl=self.url, MessageBody=body)

    async def drain(self) -> list[str]:
        """The bodies of all that waits, which is gone then."""
        found: list[str] = []
        while got := await self.transport.receive(10, wait=0, hide_for=300):
            found += [one.body.decode() for one in got]
            await self.transport.acknowledge([one.receipt for one in got])
        return found


@contextmanager
def running_server() -> Iterator[SqsServer]:
    server = SqsServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def pointed_at(server: SqsServer) -> Iterator[None]:
    """Lead the SDK of this process to the server."""
    before = {name: os.environ.get(name) for name in server.variables}
    os.environ.update(server.variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@asynccontextmanager
async def new_queue(server: SqsServer) -> AsyncIterator[Queue]:
    """A queue of its own; the SDK of this process has to be pointed at the server."""
    from aiobotocore.session import get_session

    async with get_session().create_client("sqs") as client:
        url = (await client.create_queue(QueueName=f"jobs-{secrets.token_hex(6)}"))["QueueUrl"]
        async with open_sqs(url) as transport:
            yield Queue(url, transport, client)
