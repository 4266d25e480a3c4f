"""`tenure jobs list`: jobs that match filters, a page at a time."""

from datetime import UTC, datetime
from uuid import UUID

import click

from tenure.api import views
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter, Listed, Page
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli import job_ids
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.job_ids import JobName
from tenure.surfaces.cli.options import moment_option, read_by
from tenure.surfaces.cli.output import age, is_terminal, json_option, moment, print_json, styled, table

ASIDE = ", aside"
"""Added to the state of a job that the database refuses to move."""


@click.command("list")
@click.option(
    "--state",
    "states",
    type=click.Choice([state.value for state in State]),
    multiple=True,
    metavar="STATE",
    help="Only jobs in this state; may be repeated. One of " + ", ".join(State) + ".",
)
@click.option("--definition", metavar="KEY", help="Only jobs of this definition.")
@click.option("--version", type=int, metavar="N", help="Only jobs of this version of their definition.")
@click.option("--queue", metavar="NAME", help="Only jobs in this queue.")
@click.option("--tag", metavar="NAME", help="Only jobs with this tag.")
@click.option("--fingerprint", metavar="TEXT", help="Only dead letters with this fingerprint of their error.")
@click.option(
    "--waiting-for", metavar="NAME", help="Only jobs that are suspended until they are sent this signal."
)
@click.option("--namespace", metavar="NAME", help="Only jobs in this namespace.")
@moment_option("--created-after", "Only jobs created after this time, such as 2030-01-31T08:30:00Z.")
@moment_option("--created-before", "Only jobs created before this time.")
@click.option("--oldest-first", is_flag=True, help="Oldest jobs first; default: newest first.")
@click.option(
    "--limit",
    type=click.IntRange(1, LARGEST_PAGE),
    default=50,
    show_default=True,
    metavar="N",
    help="How many jobs to list at most.",
)
@click.option(
    "--after",
    metavar="ID",
    callback=read_by(job_ids.read),
    help="Continue after this job, where the previous list ended.",
)
@database_option
@json_option
@click.pass_obj
def list_jobs(
    parts: Parts,
    states: tuple[str, ...],
    definition: str | None,
    version: int | None,
    queue: str | None,
    tag: str | None,
    fingerprint: str | None,
    waiting_for: str | None,
    namespace: str | None,
    created_after: datetime | None,
    created_before: datetime | None,
    oldest_first: bool,
    limit: int,
    after: JobName | None,
    database: str,
    as_json: bool,
) -> None:
    """List jobs, the newest first. A job must match every filter that is given."""
    which = Filter(
        states=frozenset(map(State, states)),
        definition=definition,
        version=version,
        queue=queue,
        tag=tag,
        fingerprint=fingerprint,
        waiting_for=waiting_for,
        namespace=namespace,
        created_after=created_after,
        created_before=created_before,
    )

    async def work(client: JobClient) -> Page:
        start = None if after is None else await job_ids.full_id(client, after)
        return await _full_page(client, which, after=start, newest_first=not oldest_first, limit=limit)

    page = with_client(parts, database, work)
    if as_json:
        print_json(views.job_page(page))
    else:
        _print(page)


async def _full_page(
    client: JobClient, which: Filter, *, after: UUID | None, newest_first: bool, limit: int
) -> Page:
    """A page that is full if there are enough jobs: one read may return fewer than its limit."""
    jobs: list[Listed] = []
    while True:
        missing = limit - len(jobs)
        part = await client.page(which, after=after, newest_first=newest_first, limit=missing)
        jobs += part.jobs
        after = part.next
        if after is None or len(jobs) == limit:
            return Page(jobs, after)


def _print(page: Page) -> None:
    if page.jobs:
        when = "age" if is_terminal() else "created"
        titles = ("id", "state", "attempt", when, "definition", "queue")
        rows = [_cells(job) for job in page.jobs]
        for line in table(titles, rows, right=frozenset({"attempt", "age"}), paint=_paint):
            click.echo(line)
    elif is_terminal():
        click.echo("no jobs", err=True)
    if page.next is not None:
        click.echo(f"there may be more: --after {page.next}", err=True)


def _cells(job: Listed) -> tuple[str, ...]:
    return (
        str(job.id),
        job.state if job.aside_at is None else f"{job.state}{ASIDE}",
        f"{job.attempt}/{job.max_attempts}",
        age(datetime.now(UTC) - job.created_at) if is_terminal() else moment(job.created_at),
        f"{job.definition}@{job.version}",
        job.queue,
    )


def _paint(title: str, cell: str) -> str:
    if title != "state":
        return cell
    state = cell.removesuffix(ASIDE)
    return styled(state) + cell.removeprefix(state)
