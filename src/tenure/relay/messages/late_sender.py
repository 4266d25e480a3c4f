"""Sends like `MessageSender`, but opens the broker only when there is something to send: for a command."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import UUID

from tenure.core.errors import TenureError
from tenure.core.signals import Announce, MessagesSent
from tenure.relay.messages.sender import MessageSender
from tenure.relay.messages.transport import Transport

LAST_SECONDS = 2.0
"""How long the end of a command waits for a broker that is away."""

OpenTransport = Callable[[], AbstractAsyncContextManager[Transport]]


class LateSender:
    """What it cannot send it announces: the job is on record, and will be named once more by a worker."""

    def __init__(
        self, open_transport: OpenTransport, store_id: Callable[[], Awaitable[UUID]], on_signal: Announce
    ) -> None:
        self._open = open_transport
        self._store_id = store_id
        self._on_signal = on_signal
        self._waiting: list[UUID] = []
        self._sender: MessageSender | None = None
        self._sending: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()

    def send(self, jobs: Iterable[UUID]) -> None:
        """Have messages sent for these jobs. Returns at once, and never fails."""
        if self._sender is not None:
            self._sender.send(jobs)
            return
        self._waiting.extend(jobs)
        if self._waiting and self._sending is None:
            self._sending = asyncio.create_task(self._send())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LateSender"]:
        """Send while the context lasts, and at its end what still waits."""
        try:
            yield self
        finally:
            self._is_over.set()
            if self._sending is not None:
                await self._sending

    async def _send(self) -> None:
        try:
            store_id = await self._store_id()
            async with self._open() as transport:
                sender = MessageSender(transport, store_id, self._on_signal)
                sender.send(self._waiting)
                self._sender = sender
                async with sender.running(last_seconds=LAST_SECONDS):
                    await self._is_over.wait()
        except TenureError as error:
            self._on_signal(MessagesSent(0, len(self._waiting), str(error)))
