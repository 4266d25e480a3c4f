"""What stands around a worker while it works: its processes, its store, and its definitions on record."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import click

from tenure.core.signals import Troubled
from tenure.core.urls import masked
from tenure.engine.hiring import hire, new_name
from tenure.engine.registering import register
from tenure.engine.registry import Manifest
from tenure.engine.worker import Worker
from tenure.execution.guards import Guards
from tenure.execution.lanes import Lanes
from tenure.execution.limits import MORE_ALLOWED
from tenure.settings import Loaded, Settings
from tenure.storage.address import open_store
from tenure.storage.contract import Store
from tenure.surfaces.cli.isolation import isolation
from tenure.surfaces.cli.telling import Teller


class Workplace(NamedTuple):
    """A worker that is ready to run, the store that it works on, and the address of that."""

    worker: Worker
    store: Store
    database: str


@asynccontextmanager
async def workplace(app: str, loaded: Loaded) -> AsyncIterator[Workplace]:
    """A place for a worker that serves an app; says on standard error what it serves, and how."""
    settings = loaded.settings
    tell = Teller()
    guards = Guards.adopting(give_up=lambda left: tell(Troubled("guards", left, 1)))
    lanes = Lanes(app, environment=_environment(settings), guards=guards)
    try:
        manifest = Manifest.read(await lanes.start())
        registry = manifest.registry()
        database = settings.database
        if "database" not in loaded.sources and manifest.database is not None:
            database = manifest.database
        store = await open_store(database)
        try:
            name = new_name()
            hired = hire(store, lanes, registry, tell, worker=name, settings=settings)
            for changed in await register(store, registry.specs(), name):
                click.echo(f"{changed} was registered before and says something else now", err=True)
            click.echo(f"{app} on {masked(database)}", err=True)
            for line in isolation(registry.specs(), is_root=os.geteuid() == 0):
                click.echo(line, err=True)
            if lanes.notice:
                click.echo(lanes.notice, err=True)
            yield Workplace(hired, store, database)
        finally:
            await store.close()
    finally:
        await lanes.close()


def _environment(settings: Settings) -> dict[str, str]:
    """Of what children are given: the worker's own, and what the settings say of definitions and of names."""
    of_definitions = settings.for_definitions()
    names = ",".join([*settings.child_env, *of_definitions])
    return {**os.environ, **of_definitions, MORE_ALLOWED: names}
