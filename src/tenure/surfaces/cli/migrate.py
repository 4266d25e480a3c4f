"""`tenure migrate`: bring a database's schema up to this code's, or say what that would take."""

import click

from tenure.core.urls import masked
from tenure.storage.contract import Store
from tenure.storage.findings import MOST
from tenure.storage.ledger import LEDGERS, by_hand
from tenure.storage.migrate import Applied
from tenure.surfaces.cli.database import Parts, database_option, with_store


@click.command()
@database_option
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; exit with 6 unless the schema is this version's. Names what was made by hand"
    " and is in the way.",
)
@click.option("--sql", is_flag=True, help="Change nothing; print the SQL that is missing, to be run by hand.")
@click.option(
    "--for",
    "kind",
    type=click.Choice(list(LEDGERS)),
    help="With --sql: print everything for an empty database of this kind, without connecting.",
)
@click.pass_obj
def migrate(parts: Parts, database: str, check: bool, sql: bool, kind: str | None) -> None:
    """Apply the migrations that a database lacks, one after the other.

    Each is committed by itself, so that a run that was killed is continued by the next one. Several runs at
    once take turns. A database newer than this version is refused with exit code 6.
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
        with_store(parts.store_for(database, create=not check), _check if check else _migrate)
        click.echo(f"{masked(database)} is up to date")


async def _migrate(store: Store) -> None:
    await store.migrate(_tell)
    await store.verify()


async def _check(store: Store) -> None:
    await store.verify()
    # Said, but no failure: a script that waits for the schema must not wait for ever for one job's row.
    found = await store.inspect()
    for finding in found:
        click.echo(f"Warning: {finding}", err=True)
    if len(found) == MOST:
        click.echo("Warning: there may be more; these are the first that were found", err=True)


async def _sql(store: Store) -> str:
    return await store.migration_sql()


def _tell(applied: Applied) -> None:
    click.echo(f"applied {applied.label} ({applied.position} of {applied.total})")
