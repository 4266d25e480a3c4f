"""`tenure api`: serve HTTP until told to stop."""

import os
import socket
import sys
from typing import TYPE_CHECKING

import click

from tenure.core.urls import masked
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.settings import Settings
from tenure.sources import load
from tenure.storage.address import is_fresh, open_store
from tenure.storage.contract import Store
from tenure.surfaces.cli.notifying import Manager
from tenure.surfaces.cli.running import FORCED, on_signals, run
from tenure.surfaces.cli.speaking import speaking
from tenure.surfaces.cli.tracing import exported
from tenure.surfaces.redaction import Redaction
from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.lag import watched
from tenure.telemetry.logs import Logs
from tenure.telemetry.requests import RequestSpans

if TYPE_CHECKING:
    from tenure.surfaces.http.desk import Desk
    from tenure.surfaces.http.server import Server


@click.command()
@click.option("--database", metavar="URL", help="Where the jobs are; else TENURE_DATABASE, else tenure.toml.")
@click.option("--host", metavar="NAME", help="Where to listen: 127.0.0.1 without it. Others need keys.")
@click.option("--port", metavar="N", help="8000 without it; 0 for any that is free.")
@click.option("--shutdown-seconds", metavar="S", help="How long to let requests finish when told to stop.")
def api(**given: str | None) -> None:
    """Serve HTTP: record jobs and tell what has become of them, to programs and, at /, to people.

    It runs no job, and keeps nothing that is not in the database: any number may serve one database. While
    there are no keys it is open to whoever reaches it, so it listens on this machine's own addresses only;
    once there is one, every request needs one. `tenure keys create` makes them.

    The first SIGTERM or SIGINT lets requests that are under way finish, for as long as --shutdown-seconds
    says; a second one ends them at once.
    """
    settings = load(given).settings
    with speaking(settings) as logs:
        code = run(_serve(settings, logs))
    if code:
        sys.exit(code)


async def _serve(settings: Settings, logs: Logs) -> int:
    from tenure.surfaces.http.desk import Desk

    store, listening = await open_and_listen(settings)
    metrics = ApiMetrics()
    client = client_of(store, metrics, settings)
    try:
        async with exported(settings, logs.notice, metrics.external.called) as spans:
            traced = None if spans is None else RequestSpans(spans)
            desk = Desk(store, client, Redaction(settings.redact), metrics=metrics, spans=traced, logs=logs)
            server = server_of(desk, listening, settings, logs)
            logs.notice(f"{server.url} on {masked(settings.database)}, {await open_to(store)}")
            with watched(metrics.lag):
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


async def open_and_listen(settings: Settings) -> tuple[Store, socket.socket]:
    """The store, and a socket where only those reach it who may. Raises InvalidInput where others would."""
    from tenure.surfaces.http.server import listen

    if is_fresh(settings.database):
        # It has no keys, and is not even made for a server that must not start.
        listening = listen(settings.host, settings.port)
        try:
            return await open_store(settings.database), listening
        except BaseException:
            listening.close()
            raise
    store = await open_store(settings.database)
    try:
        is_locked = (await store.find_keys([])).is_locked
        return store, listen(settings.host, settings.port, is_locked=is_locked)
    except BaseException:
        await store.close()
        raise


def client_of(store: Store, metrics: ApiMetrics, settings: Settings) -> Client:
    """What requests are done by, as the settings would have it."""
    return Client(
        metrics.on(store),
        Registry(),
        max_queue_depth=settings.max_queue_depth,
        max_namespace_jobs=settings.max_namespace_jobs,
    )


def server_of(desk: "Desk", listening: socket.socket, settings: Settings, logs: Logs) -> "Server":
    """A server as the settings would have it."""
    from tenure.surfaces.dashboard.table import PAGES
    from tenure.surfaces.http.connection import Limits
    from tenure.surfaces.http.server import Server
    from tenure.surfaces.http.table import ROUTES

    return Server(
        desk,
        listening,
        routes=(*ROUTES, *PAGES),
        limits=Limits.of(settings),
        shutdown_seconds=settings.shutdown_seconds,
        hosts=settings.allowed_hosts,
        trusted_proxies=settings.trusted_proxies,
        requests_per_second=settings.requests_per_second,
        on_bug=logs.failed,
    )


async def open_to(store: Store) -> str:
    """Who may use the server."""
    if (await store.find_keys([])).is_locked:
        return "open to whoever has a key"
    return "open to this machine only: there are no keys"
