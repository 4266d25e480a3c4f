"""Which database a command works on, and a store or a client on it for as long as the command runs."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import click

from tenure.core.errors import StoreError
from tenure.core.urls import DEFAULT
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.sources import load
from tenure.storage.contract import Store
from tenure.surfaces.redaction import Redaction

T = TypeVar("T")
_LAST_WORDS = 1.0
"""Seconds that closing may take after Ctrl-C."""


def _in_force(_ctx: click.Context, _param: click.Parameter, given: str | None) -> str:
    return load({"database": given}).settings.database


database_option = click.option(
    "--database",
    metavar="URL",
    callback=_in_force,
    help="Where the jobs are: sqlite:///relative.db, sqlite:////absolute.db or postgresql://... "
    f"Without it TENURE_DATABASE, else `database` in tenure.toml, else {DEFAULT}.",
)


def redaction_in_force() -> Redaction:
    """What is shown of jobs, as the settings say."""
    return Redaction(load({}).settings.redact)


class StoreFor(Protocol):
    """Makes the store that an address names, not yet opened."""

    def __call__(self, database: str, *, create: bool = True) -> Store:
        """Without `create` a database that is not there is refused, not made."""


class Parts(NamedTuple):
    """What the commands are given from outside, as click's `obj`."""

    store_for: StoreFor


def with_store(store: Store, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    """Open the store, do the work on it, close it; answers as the work does."""
    return asyncio.run(_session(store, work))


def with_client(parts: Parts, database: str, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Do the work with a client on a database that must be there, and of this version's schema."""

    async def verified(store: Store) -> T:
        await store.verify()
        client = Client(store, Registry())
        try:
            return await work(client)
        finally:
            await client.close()

    return with_store(parts.store_for(database, create=False), verified)


async def _session(store: Store, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    # What failed is raised and told once; a driver's abandoned future has nothing to add on standard error.
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    await store.open()
    try:
        answer = await work(store)
    except asyncio.CancelledError:
        # Ctrl-C. Closing finishes what was handed in, and that may be what was waited for: not for long.
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await store.close()
        raise
    except BaseException:
        await store.close()
        raise
    await store.close()
    return answer
