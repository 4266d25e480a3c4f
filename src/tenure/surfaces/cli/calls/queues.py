"""`tenure queues`: what stands in queues, and pausing them."""

from datetime import UTC, datetime, timedelta

import click

from tenure.api.shapes import PauseItem, QueueItem, QueueState, queue_items
from tenure.core.reports.operations import PauseScope
from tenure.core.values.bounds import named
from tenure.core.values.text import plain
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.changes import Changes, operator, with_changes
from tenure.surfaces.cli.database import Parts, database_option, with_verified_store
from tenure.surfaces.cli.options import reason_option, until_option
from tenure.surfaces.cli.output import age, is_terminal, json_option, moment, print_json, table


@click.group()
def queues() -> None:
    """List, pause and resume queues."""


@queues.command("list", short_help="List queues: what waits, what runs, what is paused.")
@database_option
@json_option
@click.pass_obj
def list_queues(parts: Parts, database: str, as_json: bool) -> None:
    """List queues: what waits and since when, what runs, how much passes through, and pauses.

    A definition of the queue may be paused by itself; the last column tells that as well. --json has every
    line of a queue, with its own numbers.
    """

    async def work(store: Store) -> list[QueueItem]:
        return queue_items(await store.lines(), await store.flows(), await store.pauses())

    items = with_verified_store(parts, database, work)
    if as_json:
        print_json({"items": items})
    elif items:
        titles = ("queue", "queued", "oldest", "running", "in/min", "ended/min", "paused")
        right = frozenset(titles[1:-1])
        for line in table(titles, [_cells(item) for item in items], right=right):
            click.echo(line)
    elif is_terminal():
        click.echo("no queues", err=True)


@queues.command()
@click.argument("queue", metavar="QUEUE")
@until_option
@reason_option
@database_option
@json_option
@click.pass_obj
def pause(
    parts: Parts,
    queue: str,
    until: datetime | timedelta | None,
    reason: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Let no worker claim jobs from a queue.

    Jobs that run go on, and new ones are accepted and wait. Pausing again replaces time and reason. The queue
    need not have had a job yet.
    """
    named("queue", queue)

    async def work(changes: Changes) -> bool:
        async def one() -> None:
            await changes.client.pauses.pause(PauseScope(queue), until=until, by=operator(), reason=reason)

        await changes.make("queues pause", queue, one)
        return any(known.line.queue == queue for known in await changes.client.lines())

    if not with_changes(parts, database, work):
        click.echo(f"no job or worker knows this queue yet: {queue}", err=True)
    _show(queue, paused=True, as_json=as_json)


@queues.command(short_help="Let workers claim jobs from a queue again.")
@click.argument("queue", metavar="QUEUE")
@database_option
@json_option
@click.pass_obj
def resume(parts: Parts, queue: str, database: str, as_json: bool) -> None:
    """Let workers claim jobs from a queue again; it is no failure if it is not paused.

    A pause of a definition stays, and is ended by `tenure definitions resume`.
    """
    named("queue", queue)

    async def work(changes: Changes) -> bool:
        return await changes.make(
            "queues resume", queue, lambda: changes.client.pauses.resume(PauseScope(queue))
        )

    if not with_changes(parts, database, work):
        click.echo(f"queue {queue} was not paused", err=True)
    _show(queue, paused=False, as_json=as_json)


def _show(queue: str, *, paused: bool, as_json: bool) -> None:
    if as_json:
        print_json(QueueState(queue, paused=paused))
    else:
        click.echo(f"queue {queue} is {'paused' if paused else 'resumed'}")


def _cells(item: QueueItem) -> tuple[str, ...]:
    oldest = item.oldest_queued_at
    return (
        item.name,
        str(item.depth),
        "-" if oldest is None else age(datetime.now(UTC) - oldest) if is_terminal() else moment(oldest),
        str(sum(line.counts.get("running", 0) for line in item.lines)),
        f"{item.rates.enqueued_per_minute:.4g}",
        f"{item.rates.finished_per_minute:.4g}",
        _paused(item),
    )


def _paused(item: QueueItem) -> str:
    if item.pause is not None:
        return _told(item.pause)
    held = {
        PauseScope(one.queue or "", one.definition_key or "", one.definition_version or 0): one
        for one in (line.pause for line in item.lines)
        if one is not None
    }
    return "; ".join(f"{scope} {_told(held[scope])}" for scope in sorted(held)) or "-"


def _told(pause: PauseItem) -> str:
    until = f" until {moment(pause.until)}" if pause.until else ""
    why = f": {pause.reason}" if pause.reason else ""
    return plain(f"by {pause.by}{until}{why}")
