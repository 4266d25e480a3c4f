"""`tenure jobs`: what has become of jobs, and what is to become of them."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import click

from tenure.core.errors import JobIsAside, JobNotFound, NoResult, TenureError
from tenure.core.job import Standing
from tenure.core.states import State
from tenure.engine.client import Client
from tenure.surfaces import views
from tenure.surfaces.cli.database import Parts, database_option, with_client
from tenure.surfaces.cli.listing import list_jobs
from tenure.surfaces.cli.options import jobs_argument, params_option, read_params
from tenure.surfaces.cli.output import json_option, print_json, styled
from tenure.surfaces.cli.showing import show
from tenure.surfaces.cli.watching import logs, watch

ACTOR = "cli"
"""Who asked, in the history of a job."""


class Refused(TenureError):
    """A job is where the request makes no sense."""


@click.group()
def jobs() -> None:
    """Look at jobs, follow them, stop them, run them again.

    An ID is the id of a job in full, as `tenure enqueue` and `tenure jobs list` print it.
    """


jobs.add_command(list_jobs)
jobs.add_command(show)
jobs.add_command(watch)
jobs.add_command(logs)


@jobs.command(short_help="Stop jobs.")
@jobs_argument
@click.option("--reason", metavar="TEXT", help="Why; it stands in the history of the job.")
@database_option
@json_option
@click.pass_context
def cancel(
    ctx: click.Context, jobs: tuple[UUID, ...], reason: str | None, database: str, as_json: bool
) -> None:
    """Stop jobs: at once if they do not run, else as soon as their worker has stopped them.

    A job that was cancelled before is no failure; one that ended otherwise is, and stays as it is.
    """

    async def one(client: Client, job: UUID) -> None:
        standing = await client.cancel(job, actor=ACTOR, reason=reason)
        if standing.state.is_final and standing.state is not State.CANCELLED:
            raise Refused(f"job {job} has ended already: it is {standing.state}")
        _tell(standing, as_json=as_json)

    _each(ctx, database, jobs, one)


@jobs.command(short_help="Let jobs go that were held.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def accept(ctx: click.Context, jobs: tuple[UUID, ...], database: str, as_json: bool) -> None:
    """Let jobs go that were enqueued with --hold; those that were let go before stay as they are."""

    async def one(client: Client, job: UUID) -> None:
        _tell(await client.accept(job), as_json=as_json)

    _each(ctx, database, jobs, one)


@jobs.command("put-back", short_help="Let jobs go on that were put aside.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def put_back(ctx: click.Context, jobs: tuple[UUID, ...], database: str, as_json: bool) -> None:
    """Let jobs go on that were put aside because the database refused to move them.

    Somebody has to have mended them; one that still cannot be moved is a failure, and stays aside. What their
    attempts had reported counts now; attempts that had not reported are taken from their workers.
    """

    async def one(client: Client, job: UUID) -> None:
        standing = await client.mending.put_back(job)
        if not standing.moved:
            raise Refused(f"job {job} is not aside: it is {standing.state}")
        _tell(standing, as_json=as_json)

    _each(ctx, database, jobs, one)


@jobs.command(short_help="Run jobs that have ended again, as new ones.")
@jobs_argument
@params_option("Other params than the first time: JSON, a file that holds it, or - for standard input.")
@click.option("--force", is_flag=True, help="Even while an earlier replay of the job has not ended.")
@database_option
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    jobs: tuple[UUID, ...],
    params: str | None,
    force: bool,
    database: str,
    as_json: bool,
) -> None:
    """Run jobs that have ended again, as new jobs, and print their ids.

    While an earlier replay of a job has not ended, that one is the answer.
    """
    document = None if params is None else read_params(params)

    async def one(client: Client, job: UUID) -> None:
        replayed = await client.replay(job, params=document, forced=force)
        made = await client.get(replayed.replay or job)
        if as_json:
            print_json(views.Accepted(job_id=made.id, status=made.state))
        else:
            click.echo(made.id)
        if not replayed.fresh:
            click.echo(f"job {job} is being replayed already; --force replays it once more", err=True)

    _each(ctx, database, jobs, one)


def _each(
    ctx: click.Context,
    database: str,
    jobs: Sequence[UUID],
    one: Callable[[Client, UUID], Awaitable[None]],
) -> None:
    """Do something to each job; one that is refused keeps no other from its turn, and the exit code is 1."""

    async def work(client: Client) -> bool:
        refused = False
        for job in jobs:
            try:
                await one(client, job)
            except (JobIsAside, JobNotFound, NoResult, Refused) as error:
                click.echo(f"Error: {error}", err=True)
                refused = True
        return refused

    parts: Parts = ctx.obj
    if with_client(parts, database, work):
        ctx.exit(1)


def _tell(standing: Standing, *, as_json: bool) -> None:
    if as_json:
        print_json(views.Accepted(job_id=standing.job, status=standing.state))
    else:
        click.echo(f"{standing.job} {styled(standing.state)}")
