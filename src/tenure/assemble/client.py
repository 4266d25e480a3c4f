"""Clients on a store, for the library and for commands."""

import logging
from contextlib import AsyncExitStack
from typing import NamedTuple, Protocol

from tenure.assemble.messages import with_messages
from tenure.core.signals import Announce, MessagesSent, Signal, to_all
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.engine.webhooks.webhooks import WebhookTerms
from tenure.settings.settings import Settings
from tenure.storage.address import open_store, store_for
from tenure.storage.contract.store import Store


class Meter(Protocol):
    """Counts what a client does."""

    def on(self, store: Store) -> Store:
        """The store, timed."""

    def announced(self, signal: Signal) -> None:
        """Count what was announced."""


class OpenClient(NamedTuple):
    """A client and the store that was opened for it."""

    client: JobClient
    store: Store
    sending: AsyncExitStack | None = None

    async def close(self) -> None:
        """Close the client, then what sends messages for it, then its store."""
        await self.client.close()
        if self.sending is not None:
            await self.sending.aclose()
        await self.store.close()


async def open_client(
    database: str,
    registry: Registry,
    *,
    verify: bool = True,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> OpenClient:
    """A client on the database at this address.

    Without `verify` the schema is not checked: another store of this process has done so. If the `settings`
    name a transport, messages are sent for jobs that it puts in line. With a `meter` its calls are counted.
    """
    if verify:
        store = await open_store(database)
    else:
        store = store_for(database)
        await store.open()
    announce: Announce = _warn
    used = store
    if meter is not None:
        announce, used = to_all(meter.announced, _warn), meter.on(store)
    sending = AsyncExitStack()
    if settings is not None and settings.transport != "database":
        try:
            used = (await sending.enter_async_context(with_messages(used, settings, announce))).store
        except BaseException:
            await store.close()
            raise
    return OpenClient(client_on(used, registry), used, sending)


def _warn(signal: Signal) -> None:
    """Tell the program by its own log that messages could not be sent: it has no other."""
    if isinstance(signal, MessagesSent) and signal.error:
        logging.getLogger("tenure").warning("messages not sent: %s", signal.error)


def client_on(store: Store, registry: Registry | None = None, settings: Settings | None = None) -> JobClient:
    """A client on an open store; without a registry it knows only the definitions on record.

    Without settings webhooks are made as with the defaults.
    """
    terms = None if settings is None else WebhookTerms.of(settings)
    return JobClient(store, registry or Registry(), webhook_terms=terms)
