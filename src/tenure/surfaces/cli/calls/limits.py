"""`tenure limits`: how many jobs may run at once under each limit, and how many do."""

import click

from tenure.api.limit_shapes import LimitSize, limit_item
from tenure.core.model.limit import LimitUse
from tenure.core.values.bounds import LARGEST_LIMIT, LARGEST_PAGE, named
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.output import is_terminal, json_option, print_json, table


@click.group(short_help="Show and set how many jobs may run at once.")
def limits() -> None:
    """List limits on how many jobs run at once, and set their sizes without a deploy."""


@limits.command("list", short_help="List limits: how many jobs may run at once, and how many do.")
@click.argument("name", metavar="[NAME]", required=False)
@database_option
@json_option
@click.pass_obj
def list_limits(parts: Parts, name: str | None, database: str, as_json: bool) -> None:
    """List limits with their keys, by name, or those of one NAME: how many may run at once, and how many do.

    A definition's own concurrency is a limit with the name of the definition. Where jobs bring keys, each key
    has a line of its own. A limit appears with the first job under it, or when its size is set.
    """

    async def work(client: JobClient) -> list[LimitUse]:
        page = await client.limits.page(limit=LARGEST_PAGE)
        uses = list(page.uses)
        while page.next is not None:
            page = await client.limits.page(after=page.next, limit=LARGEST_PAGE)
            uses += page.uses
        return [use for use in uses if name in {None, use.name}]

    items = [limit_item(use) for use in with_client(parts, database, work)]
    if as_json:
        print_json({"items": items})
    elif items:
        titles = ("limit", "key", "namespace", "held", "size")
        rows = [
            (one.name, plain(one.key) or "-", one.namespace or "-", str(one.held), str(one.size))
            for one in items
        ]
        for line in table(titles, rows, right=frozenset({"held", "size"})):
            click.echo(line)
    elif is_terminal():
        click.echo("no limits", err=True)


@limits.command("set", short_help="Set how many jobs may run at once under a limit.")
@click.argument("name", metavar="NAME")
@click.argument("size", metavar="SIZE", type=click.IntRange(1, LARGEST_LIMIT))
@database_option
@json_option
@click.pass_obj
def set_size(parts: Parts, name: str, size: int, database: str, as_json: bool) -> None:
    """Set how many jobs may run at once under each key of a limit, 1 to 10000.

    It stays so when workers restart and across deploys, until the number in the code itself changes. With a
    smaller size, jobs that run go on, and none starts until few enough are left. To let none start, pause.
    """
    named("limit", name)

    async def work(changes: Changes) -> None:
        await changes.make("limits set", f"{name} {size}", lambda: changes.client.limits.resize(name, size))

    with_changes(parts, database, work)
    if as_json:
        print_json(LimitSize(name, size))
    else:
        click.echo(f"limit {name} is {size}")
