"""`tenure demo`: short stories of jobs on a real store, and the history that each one leaves."""

import secrets
import sys
import tempfile
from pathlib import Path

import click

from tenure.core.lease import Line
from tenure.core.urls import masked
from tenure.storage.contract import Store
from tenure.surfaces.cli import history
from tenure.surfaces.cli.database import Parts, with_store
from tenure.surfaces.cli.stories import STORIES, Stage, Told

INDENT = "   "


@click.command()
@click.option(
    "--database",
    metavar="URL",
    help="Play on this database, and leave the jobs there. Without it, on a temporary SQLite file. "
    "TENURE_DATABASE is not read: a demo has no business in it.",
)
@click.pass_obj
def demo(parts: Parts, database: str | None) -> None:
    """Play short stories of jobs on a real store and show their histories."""
    if database is not None:
        steps = with_store(parts.store_for(database), _play)
        _end(steps, f"on {masked(database)}, and kept")
        return
    with tempfile.TemporaryDirectory(prefix="tenure-demo-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "demo.db"
        steps = with_store(parts.store_for(f"sqlite:///{file}"), _play)
    _end(steps, f"in {file}, now deleted")


async def _play(store: Store) -> int:
    """Play every story; answers with the number of steps taken."""
    await store.migrate()
    await store.verify()
    # A queue of its own, so that neither a worker nor another demo takes a job out of a story.
    stage = Stage(store, Line(f"demo-{secrets.token_hex(4)}", "send-mail"))
    steps = 0
    for number, (title, story) in enumerate(STORIES.items(), 1):
        steps += await _show(store, f"{number}. {title}", await story(stage))
    return steps


async def _show(store: Store, title: str, told: Told) -> int:
    events = await store.events(told.job)
    history.check(events)
    arrow = _arrow()
    # The head of an id is the time it was made, much the same for all of them; the tail tells them apart.
    click.echo(f"{click.style(title, bold=True)}  [job {told.job.hex[-8:]}]")
    click.echo(f"{INDENT}{history.path(events, arrow)}")
    if told.remark:
        click.echo(f"{INDENT}{told.remark}")
    click.echo()
    for line in history.table(events, arrow):
        click.echo(f"{INDENT}{line}")
    click.echo()
    return len(events)


def _end(steps: int, where: str) -> None:
    click.echo(f"{len(STORIES)} jobs, {steps} steps, every one in the table of legal steps; {where}")


def _arrow() -> str:
    try:
        "\N{RIGHTWARDS ARROW}".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "->"
    return "\N{RIGHTWARDS ARROW}"
