"""`tenure jobs watch` and `tenure jobs logs`: a job as it changes, and what its attempts write."""

import shutil
from datetime import UTC, datetime
from typing import Protocol

import click

from tenure.api import views
from tenure.api.redaction import Redaction
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.engine.client.log_tail import AttemptLine
from tenure.surfaces.cli.calls.jobs_why import telling_why
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.job_ids import JobName, full_id
from tenure.surfaces.cli.options import job_argument
from tenure.surfaces.cli.output import LEVEL_COLOURS, is_terminal, json_option, moment, print_json, styled

BAR = 24
"""How many characters a progress bar has."""

_REDRAW = "\r\x1b[2K"


class Display(Protocol):
    """Where a job is shown as it changes."""

    def show(self, job: Job) -> None:
        """Show the job as it stands now."""

    def explain(self, sentence: str) -> None:
        """Show why it does not run."""


class LineDisplay:
    """One line for each change, with the time at which it was seen."""

    def show(self, job: Job) -> None:
        """Print a line."""
        click.echo(f"{datetime.now(UTC):%H:%M:%S} {_standing(job)}{_progress(job)}")

    def explain(self, sentence: str) -> None:
        """Print the sentence on a line."""
        click.echo(f"{datetime.now(UTC):%H:%M:%S} {sentence}")


class ProgressBar:
    """One line of a terminal, redrawn at each change."""

    def __init__(self) -> None:
        self._job: Job | None = None

    def explain(self, sentence: str) -> None:
        """Print the sentence above the bar."""
        click.echo(f"{_REDRAW}{sentence}")
        if self._job is not None:
            self.show(self._job)

    def show(self, job: Job) -> None:
        """Draw the line; the line of a job that has ended stays."""
        self._job = job
        fraction = 1.0 if job.state is State.SUCCEEDED else job.progress.fraction if job.progress else 0.0
        full = round(BAR * fraction)
        head = f"[{'#' * full}{'-' * (BAR - full)}] "
        room = max(shutil.get_terminal_size().columns - len(head) - 1, 0)
        text = f"{_standing(job)}{_progress(job)}"[:room]
        styled_text = text.replace(job.state, styled(job.state), 1)
        click.echo(f"{_REDRAW}{head}{styled_text}", nl=job.state.is_final)


class JsonDisplay:
    """One JSON text for each change."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def show(self, job: Job) -> None:
        """Print the job."""
        print_json(views.job_detail(job, self._redaction))

    def explain(self, sentence: str) -> None:
        """Print nothing: each text is a job."""


@click.command(short_help="Follow a job until it has ended.")
@job_argument
@database_option
@json_option
@click.pass_context
def watch(ctx: click.Context, job: JobName, database: str, as_json: bool) -> None:
    """Follow a job until it has ended; the exit code is 0 if it succeeds, else 1.

    Prints a progress bar on a terminal, else a line for each change, and why the job does not run while that
    is so; with --json, the job at each change.
    """
    parts: Parts = ctx.obj
    redaction = redaction_in_force()
    display: Display = (
        JsonDisplay(redaction) if as_json else ProgressBar() if is_terminal() else LineDisplay()
    )

    async def work(client: JobClient) -> Job:
        which = await full_id(client, job)
        async with telling_why(client, which, display.explain, redaction):
            return await client.watch(which, lambda found: display.show(views.redacted(found, redaction)))

    ended = with_client(parts, database, work)
    if not as_json:
        _print_end(views.redacted(ended, redaction))
    if ended.state is not State.SUCCEEDED:
        ctx.exit(1)


@click.command(short_help="Print what the attempts of a job wrote.")
@job_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the job has ended.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Only lines of this attempt.")
@database_option
@json_option
@click.pass_obj
def logs(parts: Parts, job: JobName, follow: bool, attempt: int | None, database: str, as_json: bool) -> None:
    """Print what the attempts of a job wrote: their output and their log lines.

    Each line has its time, the number of its attempt, and its level. With --json, one JSON text per line.
    """
    redaction = redaction_in_force()
    print_entry = _print_object if as_json else _print_line

    async def work(client: JobClient) -> None:
        await client.read_log(
            await full_id(client, job),
            lambda entry: print_entry(entry, redaction),
            attempt=attempt,
            follow=follow,
        )

    with_client(parts, database, work)


def _print_object(entry: AttemptLine, redaction: Redaction) -> None:
    print_json(views.log_item(*entry, redaction))


def _print_line(entry: AttemptLine, redaction: Redaction) -> None:
    line = entry.line
    level = click.style(line.level.ljust(7), fg=LEVEL_COLOURS.get(line.level))
    fields = "" if line.fields is None else f"  {plain(redaction.fields(line.fields))}"
    text = plain(redaction.text(line.text))
    click.echo(f"{moment(line.at)} #{entry.attempt} {level} {text}{fields}")


def _standing(job: Job) -> str:
    return f"{job.state}, attempt {job.attempt} of {job.policy.max_attempts}" if job.attempt else job.state


def _progress(job: Job) -> str:
    if job.progress is None or job.state.is_final:
        return ""
    return f"  {job.progress.fraction:.0%} {plain(job.progress.message)}".rstrip()


def _print_end(job: Job) -> None:
    if job.state is State.SUCCEEDED and job.result is not None:
        click.echo(plain(job.result))
    elif job.error is not None:
        click.echo(plain(views.summary(job.error)))
