"""`tenure definitions`: registered definitions, and the parts of their policies that operators override."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from tenure.api import inputs
from tenure.api.definition_views import PARTS, Defined, name_of, override_of, parts_of, shown
from tenure.core.model.override import Override
from tenure.core.reports.operations import Definition
from tenure.surfaces.cli.calls.definition_lookup import definition_named
from tenure.surfaces.cli.calls.definitions_pause import pause, resume
from tenure.surfaces.cli.calls.definitions_show import list_definitions, show
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option
from tenure.surfaces.cli.options import key_argument, read_by, version_option
from tenure.surfaces.cli.output import json_option, print_json


@click.group(short_help="List definitions, pause them, change their policies.")
def definitions() -> None:
    """Show registered definitions, pause them, and change their policies without a deploy.

    KEY is the key of a definition. Commands act on its newest version, unless --version names another; a
    pause holds all versions. A change of policy applies to jobs accepted from then on, everywhere within ten
    seconds. Options given with a job take precedence, and jobs accepted earlier keep their policy.
    """


definitions.add_command(list_definitions)
definitions.add_command(pause)
definitions.add_command(resume)
definitions.add_command(show)


def _time_option(name: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, metavar="DURATION", callback=read_by(inputs.duration), help=text)


@definitions.command("set", short_help="Override parts of a definition's policy.")
@key_argument
@click.option("--priority", type=int, metavar="N", help="From -32767 to 32767; higher runs first.")
@click.option("--max-attempts", type=int, metavar="N", help="How often a job may be tried, 1 to 100.")
@_time_option("--timeout", "How long an attempt may take: in seconds, or like 90s, 15m, 2h, 7d.")
@_time_option("--grace", "How long a job may take to stop when asked to.")
@_time_option(
    "--retry-base", "The first retry waits about twice this long, and each further one doubles the wait."
)
@_time_option("--retry-cap", "Longest wait before a retry.")
@version_option
@database_option
@json_option
@click.pass_obj
def set_parts(
    parts: Parts, /, key: str, version: int | None, database: str, as_json: bool, **options: Any
) -> None:
    """Override parts of a definition's policy; the other parts stay as they are."""
    given = {name: _number(value) for name in PARTS if (value := options[name.replace("-", "_")]) is not None}
    if not given:
        raise click.UsageError(f"give at least one of --{', --'.join(PARTS)}")

    def change(known: Definition) -> Override:
        before = Override() if known.override is None else Override.read(known.override)
        return override_of({**parts_of(before), **given})

    _change("definitions set", parts, database, key, version, change, as_json=as_json)


@definitions.command(short_help="Remove overrides, so that the code decides again.")
@key_argument
@click.argument("names", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@version_option
@database_option
@json_option
@click.pass_obj
def reset(
    parts: Parts, key: str, names: tuple[str, ...], version: int | None, database: str, as_json: bool
) -> None:
    """Remove overrides of a definition: of the named parts, or of all.

    A PART is priority, max-attempts, timeout, grace, retry-base or retry-cap.
    """

    def change(known: Definition) -> Override:
        if known.override is None or not names:
            return Override()
        before = parts_of(Override.read(known.override))
        return override_of({name: value for name, value in before.items() if name not in names})

    _change("definitions reset", parts, database, key, version, change, as_json=as_json)


def _change(
    action: str,
    parts: Parts,
    database: str,
    key: str,
    version: int | None,
    change: Callable[[Definition], Override],
    *,
    as_json: bool,
) -> None:
    async def work(changes: Changes) -> Definition:
        client = changes.client

        async def set_override() -> Definition:
            known = await definition_named(client, key, version)
            await client.override(known, change(known))
            return known

        target = key if version is None else f"{key}@{version}"
        known = await changes.make(action, target, set_override)
        return await definition_named(client, key, known.version)

    changed = Defined(with_changes(parts, database, work))
    if as_json:
        print_json(changed.item())
        return
    overrides = [f"{name} {shown(name, value)}" for name, value in parts_of(changed.override).items()]
    click.echo(f"{name_of(changed.known)} {', '.join(overrides) or 'as in the code'}")


def _number(value: int | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else value
