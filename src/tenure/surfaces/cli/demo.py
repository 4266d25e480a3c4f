"""`tenure demo`: a few jobs that meet what jobs meet, run by an embedded worker and shown live."""

import tempfile
from pathlib import Path

import click

from tenure.core.urls import masked
from tenure.surfaces.cli import history
from tenure.surfaces.cli.board import Row, board_for_output, drawn
from tenure.surfaces.cli.database import Parts, with_store
from tenure.surfaces.cli.playing import PARTS, Play
from tenure.surfaces.cli.system import require_linux

INDENT = "   "


@click.command()
@click.option(
    "--database",
    metavar="URL",
    help="Play on this database, and leave the jobs there. Without it, on a temporary SQLite file. "
    "TENURE_DATABASE is not read: a demo has no business in it.",
)
@click.pass_context
def demo(ctx: click.Context, database: str | None) -> None:
    """Run a few jobs with an embedded worker and show them live.

    One succeeds, one is retried, one crashes, one takes a while, one must be killed, one is a dead letter.
    It takes some six seconds and ends by itself.
    """
    require_linux("demo")
    parts: Parts = ctx.obj
    with tempfile.TemporaryDirectory(prefix="tenure-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "demo.db"
        store = parts.store_for(database or f"sqlite:///{file}")
        play = Play(store, board_for_output(len(PARTS), colour=ctx.color is not False))
        with_store(store, lambda _: play.run(folder))
    kept = f"on {masked(database)}, kept in queue {play.queue}" if database else f"in {file}, now deleted"
    _sum_up(list(play.rows.values()), kept)


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
