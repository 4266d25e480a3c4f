"""`tenure definitions pause` and `resume`."""

from datetime import datetime, timedelta

import click

from tenure.api.pause_shapes import definition_pause
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.reports.operations import PauseScope
from tenure.surfaces.cli.calls.definition_lookup import unknown
from tenure.surfaces.cli.changes import Changes, operator, with_changes
from tenure.surfaces.cli.database import Parts, database_option
from tenure.surfaces.cli.options import key_argument, reason_option, until_option
from tenure.surfaces.cli.output import json_option, print_json

_version_option = click.option(
    "--version", type=click.IntRange(1, 2**31 - 1), metavar="N", help="Only this version; default: all."
)
_queue_option = click.option("--queue", metavar="NAME", help="Only jobs in this queue; default: in any.")


@click.command(short_help="Let no worker claim jobs of a definition.")
@key_argument
@_version_option
@_queue_option
@until_option
@reason_option
@database_option
@json_option
@click.pass_obj
def pause(
    parts: Parts,
    key: str,
    version: int | None,
    queue: str | None,
    until: datetime | timedelta | None,
    reason: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Let no worker claim jobs of a definition, in any queue and version, those that come later too.

    Jobs that run go on, and new ones are accepted and wait. Pausing again replaces time and reason. To end
    it, resume with the same --version and --queue.
    """
    scope = _scope(key, version, queue)

    async def work(changes: Changes) -> None:
        async def one() -> None:
            await changes.client.pauses.pause(scope, until=until, by=operator(), reason=reason)

        try:
            await changes.make("definitions pause", str(scope), one)
        except UnknownDefinition:
            raise unknown(key, version, await changes.client.definitions()) from None

    with_changes(parts, database, work)
    _show(scope, paused=True, as_json=as_json)


@click.command(short_help="Let workers claim jobs of a definition again.")
@key_argument
@_version_option
@_queue_option
@database_option
@json_option
@click.pass_obj
def resume(
    parts: Parts, key: str, version: int | None, queue: str | None, database: str, as_json: bool
) -> None:
    """End the pause of a definition, with the --version and --queue it was given.

    Other pauses that hold the same jobs stay, such as that of a queue. It is no failure if there is none.
    """
    scope = _scope(key, version, queue)

    async def work(changes: Changes) -> bool:
        try:
            return await changes.make(
                "definitions resume", str(scope), lambda: changes.client.pauses.resume(scope)
            )
        except UnknownDefinition:
            raise unknown(key, version, await changes.client.definitions()) from None

    if not with_changes(parts, database, work):
        click.echo(f"{scope} was not paused", err=True)
    _show(scope, paused=False, as_json=as_json)


def _scope(key: str, version: int | None, queue: str | None) -> PauseScope:
    if not key:
        raise InvalidInput("definition", "is empty", "give the key of a definition")
    if queue == "":
        raise InvalidInput("queue", "is empty", "give the name of a queue, or leave --queue out")
    return PauseScope(queue or "", key, version or 0)


def _show(scope: PauseScope, *, paused: bool, as_json: bool) -> None:
    if as_json:
        print_json(definition_pause(scope, paused=paused))
    else:
        click.echo(f"{scope} is {'paused' if paused else 'resumed'}")
