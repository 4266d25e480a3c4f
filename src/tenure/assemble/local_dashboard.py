"""The dashboard on this machine alone, in the process of a command such as the demo."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenure.assemble.client import client_on
from tenure.assemble.server import build_server
from tenure.core.errors import InvalidInput
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.server.server import listen
from tenure.telemetry.logs.logs import EventLog

HOST = "127.0.0.1"


@asynccontextmanager
async def local_dashboard(store: Store, logs: EventLog) -> AsyncIterator[str]:
    """Serve a migrated store while the context lasts; yields the address."""
    settings = Settings(shutdown_seconds=1)
    client = client_on(store)
    server = build_server(AppContext(store, client), _listening(settings.port), settings, logs)
    serving = asyncio.create_task(server.run())
    try:
        yield server.url
    finally:
        server.stop()
        await asyncio.wait({serving})
        await client.close()


def _listening(port: int) -> socket.socket:
    try:
        return listen(HOST, port)
    except InvalidInput:
        return listen(HOST, 0)
