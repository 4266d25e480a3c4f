"""The dashboard in a command's own process, on this machine alone, for as long as the command runs."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from tenure.core.errors import InvalidInput
from tenure.core.urls import masked_in
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.settings import Settings
from tenure.storage.contract import Store
from tenure.surfaces.cli.api import server_of
from tenure.surfaces.cli.telling import Console
from tenure.telemetry.logs import Entry, Logs

HOST = "127.0.0.1"


@asynccontextmanager
async def dashboard(store: Store) -> AsyncIterator[str]:
    """Serve a store that is migrated while the context lasts; it is the address."""
    from tenure.surfaces.http.desk import Desk

    settings = Settings(shutdown_seconds=1)
    client = Client(store, Registry())
    logs = Logs(_tell, "error")
    server = server_of(Desk(store, client), _listening(settings.port), settings, logs)
    serving = asyncio.create_task(server.run())
    try:
        yield server.url
    finally:
        server.stop()
        await asyncio.wait({serving})
        await client.close()


def _listening(port: int) -> socket.socket:
    from tenure.surfaces.http.server import listen

    try:
        return listen(HOST, port)
    except InvalidInput:
        return listen(HOST, 0)


def _tell(entry: Entry) -> None:
    for line in Console(masked_in, is_coloured=False)([entry], dropped=0):
        click.echo(line, err=True, nl=False)
