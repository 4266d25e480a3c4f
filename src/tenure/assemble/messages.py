"""The message transport of a process, as its settings say: a store that sends, and the broker behind it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from tenure.core.signals import Announce
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store

if TYPE_CHECKING:
    from tenure.relay.messages.inbox import Inbox
    from tenure.relay.messages.sender import MessageSender
    from tenure.relay.messages.transport import Transport


class Messages(NamedTuple):
    """An open transport and what sends through it, and the store whose jobs its messages name."""

    transport: "Transport"
    sender: "MessageSender"
    store: Store
    store_id: UUID

    def inbox(self, settings: Settings, worker: str) -> "Inbox":
        """The messages for one worker."""
        from tenure.relay.messages.inbox import Inbox
        from tenure.relay.messages.reception import Reception
        from tenure.relay.messages.reminders import Reminders

        queue, sender = settings.sqs_queue_url, self.sender
        return Inbox(
            self.transport,
            self.store_id,
            Reception(self.store, worker, queue),
            Reminders(self.store, queue, sender.send, lambda: sender.has_unsent),
            lease_seconds=settings.lease_seconds + settings.lost_margin_seconds,
            heartbeat_seconds=settings.heartbeat,
        )

    async def backlog(self) -> tuple[int, int] | None:
        """How many messages wait, and how many are hidden; None if the broker does not answer."""
        from tenure.relay.messages.transport import TransportFailed

        try:
            found = await self.transport.backlog()
        except TransportFailed:
            return None
        return found.waiting, found.hidden


class SendingStore(NamedTuple):
    """A store that has messages sent for the jobs it puts in line, if the settings name a transport."""

    store: Store
    messages: Messages | None


@asynccontextmanager
async def with_messages(store: Store, settings: Settings, on_signal: Announce) -> AsyncIterator[SendingStore]:
    """The store as the settings want it; without a transport it is given back as it is."""
    if settings.transport == "database":
        yield SendingStore(store, None)
        return
    from tenure.relay.messages.sender import MessageSender
    from tenure.relay.messages.sending_store import sending
    from tenure.relay.messages.sqs import open_sqs

    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(open_sqs(settings.sqs_queue_url))
        store_id = await store.store_id()
        sender = await stack.enter_async_context(MessageSender(transport, store_id, on_signal).running())
        yield SendingStore(sending(store, sender), Messages(transport, sender, store, store_id))


@asynccontextmanager
async def with_late_messages(store: Store, settings: Settings, on_signal: Announce) -> AsyncIterator[Store]:
    """The same for a command: the SDK, slow to load, is loaded when there is something to send."""
    if settings.transport == "database":
        yield store
        return
    from tenure.relay.messages.late_sender import LateSender
    from tenure.relay.messages.sending_store import sending
    from tenure.relay.messages.sqs import open_sqs

    late = LateSender(lambda: open_sqs(settings.sqs_queue_url), store.store_id, on_signal)
    async with late.running() as sender:
        yield sending(store, sender)
