"""`tenure workers`: which workers there are, and whether they can run jobs."""

from datetime import UTC, datetime

import click

from tenure.api import views
from tenure.core.errors import TenureError
from tenure.core.values.text import plain
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.output import age, is_terminal, json_option, moment, print_json, table

COLOURS = {"ready": "green", "draining": "yellow", "silent": "red", "unready": "red"}


class UnknownWorker(TenureError):
    """There is no such worker."""


@click.group()
def workers() -> None:
    """List and drain workers."""


@workers.command("list")
@database_option
@json_option
@click.pass_obj
def list_workers(parts: Parts, database: str, as_json: bool) -> None:
    """List workers, those that started first at the top.

    As of its last heartbeat, a worker is ready if it claims jobs and can start them. It is unready if it
    cannot: it is about to end, the database refuses it, or its app can no longer be imported. It is draining
    if an operator has asked it to claim no more, and silent if it has sent no heartbeat for 35 seconds: it is
    dead, frozen or cut off. Workers that stopped in good order are not listed, nor those silent for a day.
    """
    found = with_client(parts, database, lambda client: client.workers())
    items = [views.worker_item(known) for known in found]
    if as_json:
        print_json({"items": items})
    elif items:
        titles = ("worker", "status", "running", "seen", "version")
        for line in table(
            titles, [_cells(item) for item in items], right=frozenset({"running"}), paint=_paint
        ):
            click.echo(line)
    elif is_terminal():
        click.echo("no workers", err=True)


@workers.command(short_help="Ask a worker to claim no more jobs, and to end.")
@click.argument("worker", metavar="WORKER")
@database_option
@click.pass_obj
def drain(parts: Parts, worker: str, database: str) -> None:
    """Ask a worker, at its next heartbeat, to claim no more jobs, finish those it runs, and end.

    The worker in `tenure serve` does not end: it claims no more, and the server and the duties go on.
    """

    async def work(changes: Changes) -> None:
        async def ask() -> None:
            if not await changes.client.drain(worker):
                raise UnknownWorker(f"there is no worker {plain(worker)}")

        await changes.make("workers drain", worker, ask)

    with_changes(parts, database, work)
    click.echo(f"{plain(worker)} will claim no more")


def _cells(item: views.WorkerItem) -> tuple[str, ...]:
    seen = item.last_heartbeat_at
    return (
        plain(item.worker_id),
        item.status,
        f"{item.running}/{item.slots}",
        f"{age(datetime.now(UTC) - seen)} ago" if is_terminal() else moment(seen),
        plain(item.version),
    )


def _paint(title: str, cell: str) -> str:
    return click.style(cell, fg=COLOURS[cell]) if title == "status" else cell
