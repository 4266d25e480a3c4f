"""The database that a command works on, with a store or a client while the command runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, Protocol, TypeVar

import click

from tenure.api.redaction import Redaction
from tenure.assemble.client import client_on
from tenure.assemble.messages import with_late_messages
from tenure.core.errors import StoreError
from tenure.core.signals import MessagesSent, Signal
from tenure.core.values.urls import DEFAULT
from tenure.engine.client.client import JobClient
from tenure.settings.sources import load
from tenure.storage.contract.store import Store

T = TypeVar("T")
_CLOSE_SECONDS = 1.0
"""Seconds that closing may take after Ctrl-C."""


def _in_force(_ctx: click.Context, _param: click.Parameter, given: str | None) -> str:
    return load({"database": given}).settings.database


database_option = click.option(
    "--database",
    metavar="URL",
    callback=_in_force,
    help="Database of the jobs: sqlite:///relative.db, sqlite:////absolute.db or postgresql://... "
    f"Default: TENURE_DATABASE, else `database` in tenure.toml, else {DEFAULT}.",
)


def redaction_in_force() -> Redaction:
    """The redaction of what is shown of jobs, from the settings."""
    return Redaction(load({}).settings.redact)


class StoreFor(Protocol):
    """Makes the store that an address names, not yet opened."""

    def __call__(self, database: str, *, create: bool = True) -> Store:
        """Without `create`, a database that does not exist is refused instead of created."""


class Parts(NamedTuple):
    """What commands are given as click's `obj`."""

    store_for: StoreFor


def with_store(store: Store, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    """Open the store, run `work` on it, close it, and return the result of `work`."""
    return asyncio.run(_session(store, work))


def with_client(parts: Parts, database: str, work: Callable[[JobClient], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with a client on a database, which must exist and have this version's schema."""

    async def with_one(store: Store) -> T:
        async with sending_client(store) as client:
            return await work(client)

    return with_verified_store(parts, database, with_one)


@asynccontextmanager
async def sending_client(store: Store) -> AsyncIterator[JobClient]:
    """A client on an open store; it sends messages for what it puts in line, where the settings say so."""
    settings = load({}).settings
    async with with_late_messages(store, settings, _warn) as sends:
        client = client_on(sends, settings=settings)
        try:
            yield client
        finally:
            await client.close()


def _warn(signal: Signal) -> None:
    if isinstance(signal, MessagesSent) and signal.error:
        click.echo(f"warning: no message sent, so a worker finds the job later: {signal.error}", err=True)


def with_verified_store(parts: Parts, database: str, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with the store of a database, which must exist and have this version's schema."""

    async def verified(store: Store) -> T:
        await store.verify()
        return await work(store)

    return with_store(parts.store_for(database, create=False), verified)


async def _session(store: Store, work: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
    # Errors are raised and printed once; a driver's abandoned future must not print more.
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    await store.open()
    try:
        answer = await work(store)
    except asyncio.CancelledError:
        # Ctrl-C. Closing waits for submitted work, which may be what the user interrupted: not for long.
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await store.close()
        raise
    except BaseException:
        await store.close()
        raise
    await store.close()
    return answer
