"""`tenure worker APP`: run jobs until told to stop."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any

import click

from tenure.core.signals import Troubled
from tenure.core.urls import masked
from tenure.engine.hiring import hire, new_name, register
from tenure.engine.memory import settle_down
from tenure.engine.registry import Manifest
from tenure.engine.worker import Worker
from tenure.execution.guards import Guards
from tenure.execution.lanes import Lanes
from tenure.execution.limits import MORE_ALLOWED
from tenure.settings import Loaded, Settings, load
from tenure.storage.address import open_store
from tenure.surfaces.cli.isolation import isolation
from tenure.surfaces.cli.notifying import Manager, keep_told
from tenure.surfaces.cli.system import require_linux
from tenure.surfaces.cli.telling import Teller

FORCED = 130
"""The exit code after a second signal."""

STOPS = (signal.SIGTERM, signal.SIGINT)
"""The signals that tell a worker to stop."""


@click.command()
@click.argument("app")
@click.option(
    "--database", metavar="URL", help="Where the jobs are; else TENURE_DATABASE, else the app's own."
)
@click.option("--slots", help="How many jobs to run at once in processes of their own.", metavar="N")
@click.option("--queues", help="Serve these queues only, with commas between them.", metavar="NAMES")
@click.option("--lease-seconds", help="How long a job is ours without a sign of life.", metavar="S")
@click.option("--shutdown-seconds", help="How long to wait for what runs when told to stop.", metavar="S")
def worker(app: str, **given: str | None) -> None:
    """Run the jobs of APP, written module:attribute, each in the lane of its definition.

    At the start it says how attempts are kept apart: a fresh process for each, unless a definition says
    otherwise.

    The first SIGTERM or SIGINT lets what runs come to its end, for as long as --shutdown-seconds says, and
    hands back the rest; a second one does that at once.
    """
    require_linux("worker")
    _open_standard_streams()
    code = _run(_work(app, load(given)))
    if code:
        sys.exit(code)


def _open_standard_streams() -> None:
    """Whoever started us may have closed some: their numbers would go to something else."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)


def _run(work: Coroutine[Any, Any, int]) -> int:
    """On uvloop where that is installed: it spends less on every round trip."""
    settle_down()
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(_undisturbed(work))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_undisturbed(work))


async def _undisturbed(work: Coroutine[Any, Any, int]) -> int:
    """The work; when it is over, a signal that comes late must not turn a good end into a bad one."""
    code = await work
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    return code


async def _work(app: str, loaded: Loaded) -> int:
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
            return await _until_told(hired)
        finally:
            await store.close()
    finally:
        await lanes.close()


def _environment(settings: Settings) -> dict[str, str]:
    """Of what children are given: the worker's own, and what the settings say of definitions and of names."""
    of_definitions = settings.for_definitions()
    names = ",".join([*settings.child_env, *of_definitions])
    return {**os.environ, **of_definitions, MORE_ALLOWED: names}


async def _until_told(hired: Worker) -> int:
    loop = asyncio.get_running_loop()
    manager = Manager(os.environ)
    told = 0

    def stop(name: str) -> None:
        nonlocal told
        told += 1
        manager.tell("STOPPING=1")
        hired.stop(f"told by {name}")

    for number in STOPS:
        # Not by the loop's own means: it would go back to the default, which is to die, before it is closed.
        signal.signal(number, lambda sent, _: loop.call_soon_threadsafe(stop, signal.Signals(sent).name))
    telling = asyncio.create_task(keep_told(manager, hired))
    try:
        await hired.run()
    finally:
        telling.cancel()
    return FORCED if told > 1 else 0
