"""`tenure migrate`: bring a database's schema up to this code's."""

import click

from tenure.core.urls import masked
from tenure.storage.contract import Store
from tenure.surfaces.cli.database import Parts, database_option, with_store


@click.command()
@database_option
@click.pass_obj
def migrate(parts: Parts, database: str) -> None:
    """Apply the migrations that a database lacks."""
    for name in with_store(parts.store_for(database), _migrate):
        click.echo(f"applied {name}")
    click.echo(f"{masked(database)} is up to date")


async def _migrate(store: Store) -> list[str]:
    applied = await store.migrate()
    await store.verify()
    return applied
