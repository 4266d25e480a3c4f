"""The commands of `tenure schedules`."""

from collections.abc import Awaitable, Callable
from typing import Any

import click

from tenure.api.schedule_shapes import ScheduleItem, coming_item, schedule_item, tick_item, tick_items
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.model.states import State
from tenure.core.schedule.schedule import KnownSchedule, Schedule, ScheduleName
from tenure.core.values.bounds import LARGEST_PAGE, named
from tenure.engine.client.client import JobClient
from tenure.engine.schedules.schedules import Schedules
from tenure.surfaces.cli.changes import Changes, operator, with_changes
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.options import params_option, read_by, read_params, reason_option
from tenure.surfaces.cli.other_commands import WordedGroup
from tenure.surfaces.cli.output import is_terminal, json_option, moment, print_json
from tenure.surfaces.cli.schedules.display import (
    coming_line,
    print_list,
    print_schedule,
    print_ticks,
    spelled,
)
from tenure.surfaces.cli.schedules.terms import changed_by, create_terms, edit_terms, new_schedule, recounts

SHOWN = 10


def _name(text: str) -> ScheduleName:
    namespace, slash, name = text.rpartition("/")
    named("schedule", name)
    if slash:
        named("namespace", namespace)
    return ScheduleName(namespace if slash else USUAL_NAMESPACE, name)


name_argument = click.argument("name", metavar="[NAMESPACE/]NAME", callback=read_by(_name))


@click.group(cls=WordedGroup)
def schedules() -> None:
    """Show schedules, their next and past runs, and change them."""


@schedules.command("list", short_help="List schedules by name, with their next and last ticks.")
@click.option("--definition", metavar="KEY", help="Only schedules of this definition.")
@database_option
@json_option
@click.pass_obj
def list_schedules(parts: Parts, definition: str | None, database: str, as_json: bool) -> None:
    """List schedules by name: their rule, the next tick and the last one that fired."""

    async def work(client: JobClient) -> list[KnownSchedule]:
        found = list(await client.schedules.page(definition=definition, limit=LARGEST_PAGE))
        page = found
        while len(page) == LARGEST_PAGE:
            page = list(
                await client.schedules.page(definition=definition, after=found[-1].name, limit=LARGEST_PAGE)
            )
            found += page
        return found

    redaction = redaction_in_force()
    items = [schedule_item(one, redaction) for one in with_client(parts, database, work)]
    if as_json:
        print_json({"items": items})
    elif items:
        print_list(items)
    elif is_terminal():
        click.echo("no schedules", err=True)


@schedules.command()
@name_argument
@database_option
@json_option
@click.pass_obj
def show(parts: Parts, name: ScheduleName, database: str, as_json: bool) -> None:
    """Show a schedule, its next runs, and what became of the last ones."""

    async def work(client: JobClient) -> Any:
        schedule = await client.schedules.look(name)
        is_readable = isinstance(schedule, Schedule)
        coming = await client.schedules.coming(name, SHOWN) if is_readable else []
        return schedule, coming, await client.schedules.ticks(name, limit=SHOWN)

    schedule, coming, ticks = with_client(parts, database, work)
    item = schedule_item(schedule, redaction_in_force())
    if as_json:
        print_json(item)
    else:
        print_schedule(
            item, [coming_line(coming_item(one)) for one in coming], tick_items(ticks, redaction_in_force())
        )


@schedules.command("next")
@name_argument
@click.option(
    "--count", type=click.IntRange(1, 100), default=SHOWN, metavar="N", help="How many; default: 10."
)
@database_option
@json_option
@click.pass_obj
def next_ticks(parts: Parts, name: ScheduleName, count: int, database: str, as_json: bool) -> None:
    """Print when a schedule fires next, in UTC."""
    coming = with_client(parts, database, lambda client: client.schedules.coming(name, count))
    if as_json:
        print_json({"items": [coming_item(one) for one in coming]})
    else:
        for one in coming:
            click.echo(coming_line(coming_item(one)))


@schedules.command()
@name_argument
@click.option(
    "--limit", type=click.IntRange(1, LARGEST_PAGE), default=50, metavar="N", help="How many; default: 50."
)
@database_option
@json_option
@click.pass_obj
def ticks(parts: Parts, name: ScheduleName, limit: int, database: str, as_json: bool) -> None:
    """List what became of the ticks of a schedule, newest first."""
    found = with_client(parts, database, lambda client: client.schedules.ticks(name, limit=limit))
    if as_json:
        print_json({"items": tick_items(found, redaction_in_force())})
    elif found:
        print_ticks(tick_items(found, redaction_in_force()))
    elif is_terminal():
        click.echo("no ticks yet", err=True)


@schedules.command()
@name_argument
@create_terms
@database_option
@json_option
@click.pass_obj
def create(parts: Parts, /, name: ScheduleName, database: str, as_json: bool, **terms: Any) -> None:
    """Create a schedule that makes a job of a definition at each tick.

    Give a rule: --cron with five fields, or one of @hourly, @daily, @weekly, @monthly and @yearly; or --every
    with a duration. With --timezone, cron is read by the clocks of that zone.
    """

    async def work(schedules: Schedules) -> Schedule:
        asked = new_schedule(name, await schedules.now(), terms)
        return await schedules.create(asked, by=operator())

    _change(parts, database, "create", name, work, as_json, "fires next at")


@schedules.command()
@name_argument
@edit_terms
@database_option
@json_option
@click.pass_obj
def edit(parts: Parts, /, name: ScheduleName, database: str, as_json: bool, **terms: Any) -> None:
    """Change parts of a schedule; what is not given stays. A tick that is due still fires."""

    async def work(schedules: Schedules) -> Schedule:
        known = await schedules.get(name)
        changed = changed_by(known.asked, terms)
        return await schedules.edit(changed, revision=known.revision, recounts=recounts(terms))

    _change(parts, database, "edit", name, work, as_json, "fires next at")


@schedules.command()
@name_argument
@reason_option
@database_option
@json_option
@click.pass_obj
def pause(parts: Parts, name: ScheduleName, reason: str | None, database: str, as_json: bool) -> None:
    """Let a schedule fire no more until it is resumed."""
    _change(
        *(parts, database, "pause", name),
        lambda schedules: schedules.pause(name, by=operator(), reason=reason),
        as_json,
        "is paused",
    )


@schedules.command()
@name_argument
@click.option("--catch-up", is_flag=True, help="Treat ticks that passed as the schedule treats missed ones.")
@database_option
@json_option
@click.pass_obj
def resume(parts: Parts, name: ScheduleName, catch_up: bool, database: str, as_json: bool) -> None:
    """Let a paused schedule fire again. Ticks that passed are noted as missed, and do not fire."""
    _change(
        *(parts, database, "resume", name),
        lambda schedules: schedules.resume(name, catch_up=catch_up),
        as_json,
        "fires next at",
    )


@schedules.command()
@name_argument
@params_option("Other params than those of the schedule, for this run alone.")
@database_option
@json_option
@click.pass_obj
def trigger(parts: Parts, name: ScheduleName, params: str | None, database: str, as_json: bool) -> None:
    """Run a schedule now and print the job's id. Its next tick stays where it is."""
    document = None if params is None else read_params(params)

    async def work(changes: Changes) -> Any:
        return await changes.make(
            "schedules trigger",
            spelled(*name),
            lambda: changes.client.schedules.trigger(name, params=document),
        )

    tick = with_changes(parts, database, work)
    if as_json:
        print_json(tick_item(tick, State.QUEUED))
    else:
        click.echo(str(tick.job))


@schedules.command()
@name_argument
@database_option
@click.pass_obj
def delete(parts: Parts, name: ScheduleName, database: str) -> None:
    """Delete a schedule with the record of its ticks. The jobs that it made stay."""

    async def work(changes: Changes) -> None:
        await changes.make("schedules delete", spelled(*name), lambda: changes.client.schedules.delete(name))

    with_changes(parts, database, work)
    click.echo(f"schedule {spelled(*name)} is deleted")


def _change(
    parts: Parts,
    database: str,
    verb: str,
    name: ScheduleName,
    work: Callable[[Schedules], Awaitable[KnownSchedule]],
    as_json: bool,
    answer: str,
) -> None:
    """Make a change on record, and print what the schedule is now."""

    async def change(changes: Changes) -> KnownSchedule:
        return await changes.make(f"schedules {verb}", spelled(*name), lambda: work(changes.client.schedules))

    schedule = with_changes(parts, database, change)
    item: ScheduleItem = schedule_item(schedule, redaction_in_force())
    if as_json:
        print_json(item)
    elif item.paused:
        click.echo(f"schedule {spelled(*name)} is paused")
    else:
        click.echo(f"schedule {spelled(*name)} {answer} {moment(item.next_at)}")
