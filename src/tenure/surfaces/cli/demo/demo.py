"""`tenure demo`: a few jobs that succeed, fail and crash, run by an embedded worker and shown live."""

import asyncio
import tempfile
from pathlib import Path

import click

from tenure.core.values.urls import masked, masked_in
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.calls import history
from tenure.surfaces.cli.database import Parts, with_store
from tenure.surfaces.cli.demo.board import BoardRow, board_for_output, drawn
from tenure.surfaces.cli.demo.play import DEMO_JOBS, DemoRun
from tenure.surfaces.cli.output import is_terminal
from tenure.surfaces.cli.process.event_loop import on_signals
from tenure.surfaces.cli.process.human_lines import HumanLines
from tenure.surfaces.cli.process.linux import require_linux
from tenure.telemetry.logs.logs import EventLog, LogEntry

INDENT = "   "


@click.command()
@click.option(
    "--database",
    metavar="URL",
    help="Run the demo on this database, and leave its jobs there; default: a temporary SQLite file. "
    "TENURE_DATABASE is not read.",
)
@click.option("--once", is_flag=True, help="End when the jobs have ended, even on a terminal.")
@click.pass_context
def demo(ctx: click.Context, database: str | None, once: bool) -> None:
    """Run a few jobs with an embedded worker and show them live.

    One succeeds, one is retried, one crashes, one takes a while, one must be killed, one is a dead letter.
    It takes about six seconds. On a terminal the dashboard and the worker stay until Ctrl-C; with --once, or
    without a terminal, there is no dashboard, and the demo ends by itself.
    """
    require_linux("demo")
    parts: Parts = ctx.obj
    with tempfile.TemporaryDirectory(prefix="tenure-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        file = folder / "demo.db"
        address = database or f"sqlite:///{file}"
        store = parts.store_for(address)
        demo_run = DemoRun(store, address, board_for_output(len(DEMO_JOBS), colour=ctx.color is not False))
        kept = f"on {masked(database)}, kept in queue {demo_run.queue}" if database else ""
        if is_terminal() and not once:
            with_store(store, lambda _: _stay(store, demo_run, folder, kept or f"in {file} until the end"))
            return
        with_store(store, lambda _: demo_run.run(folder))
    _sum_up(list(demo_run.rows.values()), kept or f"in {file}, now deleted")


async def _stay(store: Store, demo_run: DemoRun, folder: Path, where: str) -> None:
    """Run the demo beside the dashboard, and keep both until Ctrl-C."""
    # Not at the top: most commands need no HTTP server.
    from tenure.assemble.local_dashboard import local_dashboard

    await store.migrate()
    async with local_dashboard(store, EventLog(_print_error, "error")) as url:
        click.echo(f"the dashboard is at {url}")
        click.echo()

        async def look_around() -> None:
            _sum_up(list(demo_run.rows.values()), where)
            click.echo(f"look around at {url}, and replay a job if you like; Ctrl-C ends the demo")
            stopped = asyncio.Event()
            on_signals(lambda _name: stopped.set())
            await stopped.wait()

        await demo_run.run(folder, on_played=look_around)


def _print_error(entry: LogEntry) -> None:
    for line in HumanLines(masked_in, is_coloured=False)([entry], dropped=0):
        click.echo(line, err=True, nl=False)


def _sum_up(rows: list[BoardRow], where: str) -> None:
    arrow = drawn("\N{RIGHTWARDS ARROW}", "->")
    for row in rows:
        last = row.events[-1]
        click.echo()
        # Ids begin with the time they were made, the same for all of them here; their ends differ.
        click.echo(f"{click.style(row.name, bold=True)} {row.about}  [job {row.id.hex[-8:]}]")
        click.echo(f"{INDENT}{history.path(row.events, arrow)}")
        click.echo(f"{INDENT}attempt {last.attempt} of {row.most_attempts}: {row.detail_of(last)}")
    attempts = sum(len(row.attempts) for row in rows)
    steps = sum(not history.is_note(event) for row in rows for event in row.events)
    click.echo()
    click.echo(
        f"{len(rows)} jobs ended as they should, after {attempts} attempts, each in a process of its own"
    )
    click.echo(f"{steps} steps, every one in the table of legal steps; {where}")
