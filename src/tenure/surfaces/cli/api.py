"""`tenure api`: serve HTTP until told to stop."""

import os
import sys
from typing import TYPE_CHECKING

import click

from tenure.core.urls import masked
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.settings import Settings, load
from tenure.storage.address import open_store
from tenure.surfaces.cli.notifying import Manager
from tenure.surfaces.cli.running import FORCED, on_signals, run

if TYPE_CHECKING:
    from tenure.surfaces.http.server import Server


@click.command()
@click.option("--database", metavar="URL", help="Where the jobs are; else TENURE_DATABASE, else tenure.toml.")
@click.option("--host", metavar="NAME", help="An address of this machine alone: 127.0.0.1 without it.")
@click.option("--port", metavar="N", help="8000 without it; 0 for any that is free.")
@click.option("--shutdown-seconds", metavar="S", help="How long to let requests finish when told to stop.")
def api(**given: str | None) -> None:
    """Serve HTTP: record jobs and tell what has become of them.

    It runs no job, and keeps nothing that is not in the database: any number may serve one database. There
    are no keys yet, so it listens on this machine's own addresses only.

    The first SIGTERM or SIGINT lets requests that are under way finish, for as long as --shutdown-seconds
    says; a second one ends them at once.
    """
    code = run(_serve(load(given).settings))
    if code:
        sys.exit(code)


async def _serve(settings: Settings) -> int:
    from tenure.surfaces.http.desk import Desk
    from tenure.surfaces.http.server import Server, listen

    listening = listen(settings.host, settings.port)
    try:
        store = await open_store(settings.database)
    except BaseException:
        listening.close()
        raise
    client = Client(store, Registry())
    try:
        server = Server(
            Desk(store, client), listening, shutdown_seconds=settings.shutdown_seconds, tell=_tell
        )
        _tell(f"{server.url} on {masked(settings.database)}, open to this machine only: there are no keys")
        return await _until_told(server)
    finally:
        await client.close()
        await store.close()


async def _until_told(server: "Server") -> int:
    manager = Manager(os.environ)
    told = 0

    def stop(_name: str) -> None:
        nonlocal told
        told += 1
        manager.tell("STOPPING=1")
        server.stop()

    on_signals(stop)
    manager.tell("READY=1")
    await server.run()
    return FORCED if told > 1 else 0


def _tell(text: str) -> None:
    click.echo(text, err=True)
