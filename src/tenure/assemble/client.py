"""Clients on a store, for the library and for commands."""

from typing import NamedTuple

from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.engine.webhooks.webhooks import WebhookTerms
from tenure.settings.settings import Settings
from tenure.storage.address import open_store, store_for
from tenure.storage.contract.store import Store


class OpenClient(NamedTuple):
    """A client and the store that was opened for it."""

    client: JobClient
    store: Store

    async def close(self) -> None:
        """Close the client, then its store."""
        await self.client.close()
        await self.store.close()


async def open_client(database: str, registry: Registry, *, verify: bool = True) -> OpenClient:
    """A client on the database at this address.

    Without `verify` the schema is not checked: another store of this process has done so.
    """
    if verify:
        store = await open_store(database)
    else:
        store = store_for(database)
        await store.open()
    return OpenClient(client_on(store, registry), store)


def client_on(store: Store, registry: Registry | None = None, settings: Settings | None = None) -> JobClient:
    """A client on an open store; without a registry it knows only the definitions on record.

    Without settings webhooks are made as with the defaults.
    """
    terms = None if settings is None else WebhookTerms.of(settings)
    return JobClient(store, registry or Registry(), webhook_terms=terms)
