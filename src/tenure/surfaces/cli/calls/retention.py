"""`tenure retention`: how long finished jobs are kept, and one walk that removes what is kept no longer."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click

from tenure.api import inputs
from tenure.api.retention_shapes import item_of, removed_item, view, written
from tenure.core.errors import UnknownDefinition
from tenure.core.reports.retention import FOR_ALL, PARTS, RetentionPolicy
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.engine.client.retention_walk import Removed
from tenure.surfaces.cli.calls.definition_lookup import unknown
from tenure.surfaces.cli.changes import Changes, operator, with_changes
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.options import read_by
from tenure.surfaces.cli.output import json_option, moment, print_json, table

ALL = "all definitions"
_definition = click.option(
    "--definition",
    metavar="KEY",
    default=FOR_ALL,
    help="Only jobs of this definition; default: of all definitions.",
)
_dry_run = click.option(
    "--dry-run", is_flag=True, help="Change nothing: count what would go, by definition and state."
)


@click.group(short_help="Show and set how long finished jobs are kept.")
def retention() -> None:
    """Show and set how long finished jobs are kept, for all definitions or for one.

    A PART is succeeded, others (every other end), keyed (jobs with an idempotency key are kept at least so
    long, whatever their end) or logs (log lines go earlier than their job). A DURATION is in seconds, or like
    90s, 15m, 12h, 30d: from 0 to 3653d, counted from the end of the job. With 0, jobs go within ten minutes.
    Workers go by a change at once; what they have removed is gone for good.
    """


@retention.command()
@_definition
@database_option
@json_option
@click.pass_obj
def show(parts: Parts, definition: str, database: str, as_json: bool) -> None:
    """Show how long jobs are kept. Times in parentheses are those for all definitions."""

    async def work(client: JobClient) -> RetentionPolicy:
        await _check(client, definition)
        return await client.retention.get()

    policy = with_client(parts, database, work)
    if as_json:
        print_json(item_of(policy, definition) if definition else view(policy))
        return
    _print_policy(policy, definition)


def _time_option(part: str, text: str) -> Callable[[Any], Any]:
    return click.option(f"--{part}", metavar="DURATION", callback=read_by(inputs.duration), help=text)


@retention.command("set", short_help="Set how long jobs are kept.")
@_definition
@_time_option("succeeded", "How long jobs that succeeded are kept.")
@_time_option("others", "How long jobs that failed, were cancelled or buried are kept.")
@_time_option("keyed", "How long jobs with an idempotency key are kept at least.")
@_time_option("logs", "How long log lines are kept; they go with their job at the latest.")
@_dry_run
@database_option
@json_option
@click.pass_obj
def set_parts(
    parts: Parts, /, definition: str, dry_run: bool, database: str, as_json: bool, **options: timedelta | None
) -> None:
    """Set how long jobs are kept; the parts that are not given stay as they are.

    With --dry-run, nothing is set: it counts what the next walk would remove if it were.
    """
    given = {part: options[part] for part in PARTS if options[part] is not None}
    if not given:
        raise click.UsageError(f"give at least one of --{', --'.join(PARTS)}")
    if dry_run:

        async def look(client: JobClient) -> Removed:
            await _check(client, definition)
            policy = await client.retention.proposed(definition, given)
            return await client.retention.walk(definition, dry=True, policy=policy)

        _print_removed(with_client(parts, database, look), dry=True, as_json=as_json)
        return
    said = " ".join(f"{part}={written(time)}" for part, time in given.items())

    async def work(changes: Changes) -> RetentionPolicy:
        async def change() -> RetentionPolicy:
            await _check(changes.client, definition)
            return await changes.client.retention.set(definition, given, by=operator())

        return await changes.make("retention set", f"{definition or ALL} {said}", change)

    _print_changed(with_changes(parts, database, work), definition, as_json=as_json)


@retention.command(short_help="Set times back to their defaults.")
@click.argument("names", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@_definition
@database_option
@json_option
@click.pass_obj
def reset(parts: Parts, names: tuple[str, ...], definition: str, database: str, as_json: bool) -> None:
    """Set parts back, or all of them: for one definition to the times for all definitions.

    For all definitions: back to 7 days for success and for keys, 30 days for every other end, and log lines
    as long as their job.
    """

    async def work(changes: Changes) -> RetentionPolicy:
        async def change() -> RetentionPolicy:
            await _check(changes.client, definition)
            return await changes.client.retention.reset(definition, names or PARTS, by=operator())

        target = " ".join([definition or ALL, *names])
        return await changes.make("retention reset", target, change)

    _print_changed(with_changes(parts, database, work), definition, as_json=as_json)


@retention.command(short_help="Remove what is kept no longer, now.")
@_definition
@_dry_run
@database_option
@json_option
@click.pass_obj
def run(parts: Parts, definition: str, dry_run: bool, database: str, as_json: bool) -> None:
    """Remove what is kept no longer, now: one walk through all jobs, as workers do by themselves."""

    async def look(client: JobClient) -> Removed:
        await _check(client, definition)
        return await client.retention.walk(definition, dry=True)

    async def work(changes: Changes) -> Removed:
        async def walk() -> Removed:
            await _check(changes.client, definition)
            return await changes.client.retention.walk(definition)

        return await changes.make("retention run", definition or ALL, walk)

    removed = with_client(parts, database, look) if dry_run else with_changes(parts, database, work)
    _print_removed(removed, dry=dry_run, as_json=as_json)


async def _check(client: JobClient, definition: str) -> None:
    """Refuse a definition that nobody has registered, with the one that may be meant."""
    try:
        await client.retention.check_definition(definition)
    except UnknownDefinition:
        raise unknown(definition, None, await client.definitions()) from None


def _print_changed(policy: RetentionPolicy, definition: str, *, as_json: bool) -> None:
    if as_json:
        print_json(item_of(policy, definition))
    else:
        _print_policy(policy, definition)


def _print_policy(policy: RetentionPolicy, definition: str) -> None:
    rules = {rule.definition: rule for rule in (policy.usual, *policy.rules)}
    shown = [FOR_ALL, definition] if definition else list(rules)
    rows = []
    for key in shown:
        rule, in_force = rules.get(key), policy.of(key)
        times = [
            _cell(getattr(in_force, part), is_own=key == FOR_ALL or getattr(rule, part, None) is not None)
            for part in PARTS
        ]
        by_and_at = ("-", "-") if rule is None else (plain(rule.by), moment(rule.at))
        rows.append((key or ALL, *times, *by_and_at))
    for line in table(("definition", *PARTS, "set by", "at"), rows):
        click.echo(line)


def _cell(time: timedelta | None, *, is_own: bool) -> str:
    text = "as the job" if time is None else written(time)
    return text if is_own else f"({text})"


def _print_removed(removed: Removed, *, dry: bool, as_json: bool) -> None:
    counts = sorted(removed.counts.items())
    if as_json:
        print_json(removed_item(removed.counts, removed.log_lines, dry=dry))
        return
    if counts:
        rows = [(definition, state.value, str(n)) for (definition, state), n in counts]
        for line in table(("definition", "state", "jobs"), rows, right=frozenset({"jobs"})):
            click.echo(line)
    verb = "would go" if dry else "removed"
    click.echo(f"{_number(removed.jobs, 'job')} and {_number(removed.log_lines, 'log line')} {verb}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
