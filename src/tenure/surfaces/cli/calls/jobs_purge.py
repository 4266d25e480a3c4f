"""`tenure jobs purge`: deletes dead letters before their time, after a count and a question."""

import sys
from datetime import datetime
from uuid import UUID

import click

from tenure.api.bulk_shapes import SweepItem
from tenure.core.errors import InvalidInput
from tenure.core.reports.reading import Filter
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.options import moment_option
from tenure.surfaces.cli.output import json_option, moment, print_json


@click.command(short_help="Delete dead letters before their time.")
@click.option("--dead", is_flag=True, required=True, help="Delete dead letters: nothing else can be purged.")
@moment_option("--before", "Only those that ended before this time, such as 2030-01-31T08:30:00Z; required.")
@click.option("--definition", metavar="KEY", help="Only those of this definition.")
@click.option("--queue", metavar="NAME", help="Only those in this queue.")
@click.option("--tag", metavar="NAME", help="Only those with this tag.")
@click.option("--fingerprint", metavar="TEXT", help="Only those with this fingerprint of their error.")
@click.option("--namespace", metavar="NAME", help="Only those in this namespace.")
@click.option(
    "--keyed", is_flag=True, help="Also those whose idempotency key still counts; their keys are free then."
)
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
@json_option
@click.pass_obj
def purge(
    parts: Parts,
    dead: bool,  # noqa: ARG001
    before: datetime | None,
    definition: str | None,
    queue: str | None,
    tag: str | None,
    fingerprint: str | None,
    namespace: str | None,
    keyed: bool,
    dry_run: bool,
    yes: bool,
    database: str,
    as_json: bool,
) -> None:
    """Delete dead letters that ended before a time, with their history, before their retention is over.

    It counts them and asks first. A job whose idempotency key still counts stays, unless --keyed; so does one
    that the next attempt of its parent would ask for. Deleted jobs cannot be brought back.
    """
    if before is None:
        raise click.UsageError("give --before, a time such as 2030-01-31T08:30:00Z")
    which = Filter(definition=definition, queue=queue, tag=tag, fingerprint=fingerprint, namespace=namespace)

    async def look(client: JobClient) -> tuple[int, int]:
        going = await _sweep(client, which, before, keyed=keyed, dry=True)
        return going, 0 if keyed else await _sweep(client, which, before, keyed=True, dry=True) - going

    going, kept = with_client(parts, database, look)
    if kept:
        click.echo(f"kept for their idempotency keys: {_count(kept)}; --keyed deletes them too", err=True)
    if dry_run or not going:
        _print(going, 0, as_json=as_json)
        return
    if not yes and not _is_sure(going, before):
        click.echo("nothing was deleted", err=True)
        sys.exit(1)

    async def work(changes: Changes) -> int:
        target = " ".join(
            f"{name}={value}"
            for name, value in (
                *(("before", before.isoformat()), ("definition", definition), ("queue", queue)),
                *(("tag", tag), ("fingerprint", fingerprint), ("namespace", namespace)),
                ("keyed", keyed or None),
            )
            if value is not None
        )
        return await changes.make(
            "jobs purge", target, lambda: _sweep(changes.client, which, before, keyed=keyed)
        )

    deleted = with_changes(parts, database, work)
    _print(deleted, deleted, as_json=as_json)


async def _sweep(
    client: JobClient, which: Filter, before: datetime, *, keyed: bool, dry: bool = False
) -> int:
    """How many were deleted, or with `dry` would be."""
    matched = 0
    after: UUID | None = None
    while True:
        swept = await client.bulk.purge(which, ended_before=before, keyed=keyed, after=after, dry=dry)
        matched += swept.matched
        after = swept.next
        if after is None:
            return matched


def _is_sure(going: int, before: datetime) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        problem = f"{_count(going)} would be deleted, and nobody can be asked: standard input is no terminal"
        raise InvalidInput("yes", problem, "give --yes, or --dry-run to count only")
    return click.confirm(f"Delete {_count(going)} that ended before {moment(before)}, for good?", err=True)


def _print(matched: int, deleted: int, *, as_json: bool) -> None:
    if as_json:
        print_json(SweepItem(matched=matched, changed=deleted, remaining=False, next_cursor=None))
    elif deleted or not matched:
        click.echo(f"{_count(deleted)} deleted")
    else:
        click.echo(f"{_count(matched)} would be deleted")


def _count(number: int) -> str:
    return f"{number} dead letter" if number == 1 else f"{number} dead letters"
