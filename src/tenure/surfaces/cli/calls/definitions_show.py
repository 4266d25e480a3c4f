"""`tenure definitions list` and `show`: registered definitions, and what operators have overridden."""

from collections.abc import Iterator, Sequence

import click

from tenure.api.definition_views import Defined, name_of, parts_of, shown
from tenure.core.errors import InvalidInput
from tenure.core.reports.operations import Definition, Pause
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.calls.definition_lookup import definition_named
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.options import key_argument, version_option
from tenure.surfaces.cli.output import is_terminal, json_option, moment, print_json, table

WIDTH = 15
"""Width of the column of names."""


@click.command("list", short_help="List definitions, each version on its own line.")
@database_option
@json_option
@click.pass_obj
def list_definitions(parts: Parts, database: str, as_json: bool) -> None:
    """List the definitions that workers have registered, each version on its own line.

    Priority, attempts and timeout are those of a new job; the last column names what an operator has
    overridden.
    """
    found = list(_read(with_client(parts, database, lambda client: client.definitions())))
    if as_json:
        print_json({"items": [one.item() for one in found]})
    elif found:
        titles = ("definition", "lane", "queue", "priority", "attempts", "timeout", "set")
        right = frozenset({"priority", "attempts", "timeout"})
        for line in table(titles, [_cells(one) for one in found], right=right):
            click.echo(line)
    elif is_terminal():
        click.echo("no definitions", err=True)


@click.command(short_help="Show one definition, with its overrides.")
@key_argument
@version_option
@database_option
@json_option
@click.pass_obj
def show(parts: Parts, key: str, version: int | None, database: str, as_json: bool) -> None:
    """Show one definition: the policy in its code, what an operator has overridden, and its pauses."""

    async def work(client: JobClient) -> tuple[Definition, list[Pause]]:
        return await definition_named(client, key, version), await client.pauses.look()

    known, pauses = with_client(parts, database, work)
    found = Defined(known)
    if as_json:
        print_json(found.item())
        return
    for name, text in (*_facts(found), *_paused(known, pauses)):
        click.echo(f"{name.ljust(WIDTH)}{plain(text)}")


def _read(known: Sequence[Definition]) -> Iterator[Defined]:
    """Those that can be read; one that cannot is reported and left out."""
    for one in known:
        try:
            yield Defined(one)
        except InvalidInput as error:
            click.echo(f"{name_of(one)} is left out: {plain(str(error))}", err=True)


def _cells(one: Defined) -> tuple[str, ...]:
    set_parts = parts_of(one.override)
    in_force = {**one.said(), **set_parts}
    values = (shown(name, in_force[name]) for name in ("priority", "max-attempts", "timeout"))
    return name_of(one.known), one.spec.lane, one.spec.queue, *values, ", ".join(set_parts) or "-"


def _facts(one: Defined) -> Iterator[tuple[str, str]]:
    spec, set_parts = one.spec, parts_of(one.override)
    yield "definition", name_of(one.known)
    yield "lane", spec.lane
    yield "queue", spec.queue
    for name, value in one.said().items():
        code = shown(name, value)
        wanted = set_parts.get(name)
        yield name, code if wanted is None else f"{shown(name, wanted)}, not {code} as in the code"
    yield "on lost", spec.policy.on_lost
    optional = {
        "retry on": ", ".join(spec.policy.retry.retry_on),
        "fatal on": ", ".join(spec.policy.retry.fatal_on),
        "concurrency": _concurrency(one),
        "limits": ", ".join(f"{limit.name} {limit.size}" for limit in spec.limits),
        "tags": ", ".join(spec.tags),
        "hooks": ", ".join(spec.hooks),
        "memory": "any amount" if spec.memory == 0 else spec.memory and f"{spec.memory} bytes",
        "cpu": spec.cpu and f"{spec.cpu}s",
        "files": "any number" if spec.files == 0 else spec.files and str(spec.files),
        "environment": ", ".join(spec.environment),
        "database": spec.database,
        "params": spec.params_schema,
        "registered": f"{moment(one.known.registered_at)} by {one.known.registered_by or '-'}",
    }
    yield from ((name, text) for name, text in optional.items() if text)


def _paused(known: Definition, pauses: Sequence[Pause]) -> Iterator[tuple[str, str]]:
    for pause in pauses:
        if pause.scope.definition == known.key and pause.scope.version in {0, known.version}:
            until = f" until {moment(pause.until)}" if pause.until else ""
            yield (
                "paused",
                f"{pause.scope}, by {pause.by}{until}{f': {pause.reason}' if pause.reason else ''}",
            )


def _concurrency(one: Defined) -> str:
    spec = one.spec
    if not spec.concurrency:
        return ""
    return str(spec.concurrency) + (f", for each {spec.concurrency_key}" if spec.concurrency_key else "")
