"""`tenure definitions`: what is registered, and what operators set in place of what the code says."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from tenure.core.operations import Definition
from tenure.core.override import Override
from tenure.engine.client import Client
from tenure.surfaces import inputs
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.describing import list_definitions, show
from tenure.surfaces.cli.known import definition_named
from tenure.surfaces.cli.options import key_argument, read_by, version_option
from tenure.surfaces.cli.output import json_option, print_json
from tenure.surfaces.definition_views import PARTS, Defined, name_of, override_of, parts_of, shown


@click.group()
def definitions() -> None:
    """See what workers have registered, and set policies without a deploy.

    KEY is a definition's key; its newest version is meant unless --version names another. What is set holds
    for jobs that are accepted from then on, at most ten seconds later everywhere. What the caller of a job
    asks for goes before it, and jobs that were accepted earlier keep what they were promised.
    """


definitions.add_command(list_definitions)
definitions.add_command(show)


def _time_option(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, metavar="DURATION", callback=read_by(inputs.duration), help=text)


@definitions.command("set", short_help="Set parts of a definition's policy.")
@key_argument
@click.option("--priority", type=int, metavar="N", help="From -32767 to 32767; higher goes first.")
@click.option("--max-attempts", type=int, metavar="N", help="How often a job may be tried, 1 to 100.")
@_time_option("--timeout", "How long an attempt may take: seconds, or such as 90s, 15m, 2h, 7d.")
@_time_option("--grace", "How long a job that is asked to stop may take to do so.")
@_time_option("--retry-base", "The wait before another attempt begins with twice this.")
@_time_option("--retry-cap", "No wait before another attempt is longer.")
@version_option
@database_option
@json_option
@click.pass_obj
def set_parts(
    parts: Parts, /, key: str, version: int | None, database: str, as_json: bool, **asked: Any
) -> None:
    """Set parts of a definition's policy in place of what its code says; the others stay as they are."""
    given = {name: _number(value) for name in PARTS if (value := asked[name.replace("-", "_")]) is not None}
    if not given:
        raise click.UsageError(f"name what to set: --{', --'.join(PARTS)}")

    def change(known: Definition) -> Override:
        before = Override() if known.override is None else Override.read(known.override)
        return override_of({**parts_of(before), **given})

    _change(parts, database, key, version, change, as_json=as_json)


@definitions.command(short_help="Let the code's word count again.")
@key_argument
@click.argument("names", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@version_option
@database_option
@json_option
@click.pass_obj
def reset(
    parts: Parts, key: str, names: tuple[str, ...], version: int | None, database: str, as_json: bool
) -> None:
    """Take back what was set for a definition: the parts that are named, or all.

    A PART is priority, max-attempts, timeout, grace, retry-base or retry-cap.
    """

    def change(known: Definition) -> Override:
        if known.override is None or not names:
            return Override()
        before = parts_of(Override.read(known.override))
        return override_of({name: value for name, value in before.items() if name not in names})

    _change(parts, database, key, version, change, as_json=as_json)


def _change(
    parts: Parts,
    database: str,
    key: str,
    version: int | None,
    change: Callable[[Definition], Override],
    *,
    as_json: bool,
) -> None:
    async def work(client: Client) -> Definition:
        known = await definition_named(client, key, version)
        await client.override(known, change(known))
        return await definition_named(client, key, known.version)

    changed = Defined(with_client(parts, database, work))
    if as_json:
        print_json(changed.item())
        return
    said = [f"{name} {shown(name, value)}" for name, value in parts_of(changed.override).items()]
    click.echo(f"{name_of(changed.known)} {', '.join(said) or 'as in the code'}")


def _number(value: int | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else value
