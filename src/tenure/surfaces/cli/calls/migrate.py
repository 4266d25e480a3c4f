"""`tenure migrate`: brings a database's schema up to this version's, or prints what that takes."""

from collections.abc import Awaitable, Callable
from functools import partial

import click

from tenure.core.values.urls import masked
from tenure.storage.contract.store import Store
from tenure.storage.mapping.findings import MOST
from tenure.storage.schema.ledger import LEDGERS, by_hand
from tenure.storage.schema.migration import Applied, Fit
from tenure.surfaces.cli.calls import recovery
from tenure.surfaces.cli.database import Parts, database_option, with_store


@click.command()
@database_option
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; exit with 6 unless the schema fits this version: it is this version's, or newer and"
    " compatible. Warns of rows changed by hand that are in the way.",
)
@click.option("--sql", is_flag=True, help="Change nothing; print the missing SQL, to be run by hand.")
@click.option(
    "--for",
    "kind",
    type=click.Choice(list(LEDGERS)),
    help="With --sql: print all SQL for an empty database of this kind, without connecting.",
)
@click.option(
    "--after-restore",
    is_flag=True,
    help="Let a database that was restored from a backup go on: end all leases, count on above all numbers"
    " that were given out after the backup. Refused while a worker was seen in the last 35 seconds.",
)
@click.option(
    "--reset-clock",
    is_flag=True,
    help="Set the clock of a SQLite file that is ahead of this machine's back to it, once all workers and"
    " servers are stopped. Refused while a worker was seen in the last 35 seconds.",
)
@click.option(
    "--workers-stopped",
    is_flag=True,
    help="With --after-restore or --reset-clock: do so although a worker was seen lately, since none runs.",
)
@click.pass_obj
def migrate(
    parts: Parts,
    database: str,
    check: bool,
    sql: bool,
    kind: str | None,
    after_restore: bool,
    reset_clock: bool,
    workers_stopped: bool,
) -> None:
    """Apply the missing migrations to a database.

    Each is committed by itself: if a run is killed, the next one continues. Runs at the same time take turns.
    A database that is newer, and says that this version can read it, is left as it is; one that says
    otherwise is refused with exit code 6. So is one that was restored into another PostgreSQL server: stop
    all workers and servers, then run this with --after-restore.
    """
    if check + sql + after_restore + reset_clock > 1:
        raise click.UsageError("--check, --sql, --after-restore and --reset-clock exclude each other")
    if workers_stopped and not (after_restore or reset_clock):
        raise click.UsageError("--workers-stopped needs --after-restore or --reset-clock")
    if kind and not sql:
        raise click.UsageError("--for needs --sql")
    if kind:
        click.echo(by_hand(LEDGERS[kind]), nl=False)
    elif sql:
        click.echo(with_store(parts.store_for(database, create=False), _sql), nl=False)
    else:
        may_create = not (check or after_restore or reset_clock)
        on_migrated = None
        if after_restore or reset_clock:
            call = recovery.resume if after_restore else recovery.reset_clock
            on_migrated = partial(call, forced=workers_stopped)
        work = _check if check else partial(_migrate, on_migrated=on_migrated)
        fit = with_store(parts.store_for(database, create=may_create), work)
        click.echo(f"{masked(database)} is {_said(fit)}")


def _said(fit: Fit) -> str:
    if not fit.is_newer:
        return "up to date"
    return f"newer, and compatible: it has schema {fit.found}, this version of tenure knows {fit.known}"


async def _migrate(store: Store, *, on_migrated: Callable[[Store], Awaitable[None]] | None) -> Fit:
    await store.migrate(_print_applied)
    if on_migrated is not None:
        await on_migrated(store)
    return await store.verify()


async def _check(store: Store) -> Fit:
    fit = await store.verify()
    # Warnings only: a script that waits for the schema must not wait for ever for one job's row.
    found = await store.inspect()
    for finding in found:
        click.echo(f"Warning: {finding}", err=True)
    if len(found) == MOST:
        click.echo("Warning: there may be more; these are the first ones found", err=True)
    return fit


async def _sql(store: Store) -> str:
    return await store.migration_sql()


def _print_applied(applied: Applied) -> None:
    click.echo(f"applied {applied.label} ({applied.position} of {applied.total})")
