"""`tenure demo`: a few jobs that meet what jobs meet, run by an embedded worker and shown live."""

import asyncio
import tempfile
from pathlib import Path

import click

from tenure.core.urls import masked
from tenure.storage.contract import Store
from tenure.surfaces.cli import history
from tenure.surfaces.cli.board import Row, board_for_output, drawn
from tenure.surfaces.cli.dashboard import dashboard
from tenure.surfaces.cli.database import Parts, with_store
from tenure.surfaces.cli.output import is_terminal
from tenure.surfaces.cli.playing import PARTS, Play
from tenure.surfaces.cli.running import on_signals
from tenure.surfaces.cli.system import require_linux

INDENT = "   "


@click.command()
@click.option(
    "--database",
    metavar="URL",
    help="Play on this database, and leave the jobs there. Without it, on a temporary SQLite file. "
    "TENURE_DATABASE is not read: a demo has no business in it.",
)
@click.option("--once", is_flag=True, help="End when the jobs have ended, on a terminal, too.")
@click.pass_context
def demo(ctx: click.Context, database: str | None, once: bool) -> None:
    """Run a few jobs with an embedded worker and show them live.

    One succeeds, one is retried, one crashes, one takes a while, one must be killed, one is a dead letter.
    It takes some six seconds. On a terminal the dashboard and the worker stay until Ctrl-C; with --once, and
    where there is no terminal, there is no dashboard, and the demo ends by itself.
    """
    require_linux("demo")
    parts: Parts = ctx.obj
    with tempfile.TemporaryDirectory(prefix="tenure-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "demo.db"
        store = parts.store_for(database or f"sqlite:///{file}")
        play = Play(store, board_for_output(len(PARTS), colour=ctx.color is not False))
        kept = f"on {masked(database)}, kept in queue {play.queue}" if database else ""
        if is_terminal() and not once:
            with_store(store, lambda _: _stay(store, play, folder, kept or f"in {file} until the end"))
            return
        with_store(store, lambda _: play.run(folder))
    _sum_up(list(play.rows.values()), kept or f"in {file}, now deleted")


async def _stay(store: Store, play: Play, folder: Path, where: str) -> None:
    """Play it beside the dashboard, and let both go on until Ctrl-C."""
    await store.migrate()
    async with dashboard(store) as url:
        click.echo(f"the dashboard is at {url}")
        click.echo()

        async def look_around() -> None:
            _sum_up(list(play.rows.values()), where)
            click.echo(f"look around at {url}, where jobs can be replayed, too; Ctrl-C ends the demo")
            told = asyncio.Event()
            on_signals(lambda _name: told.set())
            await told.wait()

        await play.run(folder, then=look_around)


def _sum_up(rows: list[Row], where: str) -> None:
    arrow = drawn("\N{RIGHTWARDS ARROW}", "->")
    for row in rows:
        last = row.events[-1]
        click.echo()
        # The head of an id is the time it was made, much the same for all of them; the tail tells them apart.
        click.echo(f"{click.style(row.name, bold=True)} {row.about}  [job {row.id.hex[-8:]}]")
        click.echo(f"{INDENT}{history.path(row.events, arrow)}")
        click.echo(f"{INDENT}attempt {last.attempt} of {row.most_attempts}: {row.said_of(last)}")
    attempts = sum(len(row.attempts) for row in rows)
    steps = sum(not history.is_note(event) for row in rows for event in row.events)
    click.echo()
    click.echo(
        f"{len(rows)} jobs ended as they should, after {attempts} attempts, each in a process of its own"
    )
    click.echo(f"{steps} steps, every one in the table of legal steps; {where}")
