"""`tenure migrate`: brings a database's schema up to this version's, or prints what that takes."""

import click

from tenure.core.values.urls import masked
from tenure.storage.contract.store import Store
from tenure.storage.mapping.findings import MOST
from tenure.storage.schema.ledger import LEDGERS, by_hand
from tenure.storage.schema.migration import Applied, Fit
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
@click.pass_obj
def migrate(parts: Parts, database: str, check: bool, sql: bool, kind: str | None) -> None:
    """Apply the missing migrations to a database.

    Each is committed by itself: if a run is killed, the next one continues. Runs at the same time take turns.
    A database that is newer, and says that this version can read it, is left as it is; one that says
    otherwise is refused with exit code 6.
    """
    if check and sql:
        raise click.UsageError("--check and --sql exclude each other")
    if kind and not sql:
        raise click.UsageError("--for needs --sql")
    if kind:
        click.echo(by_hand(LEDGERS[kind]), nl=False)
    elif sql:
        click.echo(with_store(parts.store_for(database, create=False), _sql), nl=False)
    else:
        fit = with_store(parts.store_for(database, create=not check), _check if check else _migrate)
        click.echo(f"{masked(database)} is {_said(fit)}")


def _said(fit: Fit) -> str:
    if not fit.is_newer:
        return "up to date"
    return f"newer, and compatible: it has schema {fit.found}, this version of tenure knows {fit.known}"


async def _migrate(store: Store) -> Fit:
    await store.migrate(_print_applied)
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
