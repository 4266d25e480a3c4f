"""`tenure jobs`: look at jobs and change them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import click

from tenure.api import inputs, views
from tenure.core.errors import InvalidInput, JobIsAside, JobNotFound, JobNotWaiting, NoResult, TenureError
from tenure.core.model.job import Job, JobStanding
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.engine.client.client import JobClient
from tenure.engine.phrases import moment
from tenure.surfaces.cli.calls.jobs_list import list_jobs
from tenure.surfaces.cli.calls.jobs_purge import purge
from tenure.surfaces.cli.calls.jobs_show import show
from tenure.surfaces.cli.calls.jobs_watch import logs, watch
from tenure.surfaces.cli.calls.jobs_why import why
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, database_option
from tenure.surfaces.cli.job_ids import JobName, NoSuchEnding, SeveralEndings, full_id
from tenure.surfaces.cli.options import jobs_argument, moment_option, params_option, read_by, read_params
from tenure.surfaces.cli.other_commands import WordedGroup
from tenure.surfaces.cli.output import json_option, print_json, styled
from tenure.surfaces.cli.progress.commands import answer, signal, steps

T = TypeVar("T")
ACTOR = "cli"
"""The actor in the history of a job."""


class WrongState(TenureError):
    """The job is in a state in which the request makes no sense."""


_REFUSALS = (JobIsAside, JobNotFound, JobNotWaiting, NoResult, NoSuchEnding, SeveralEndings, WrongState)
"""What refuses one job, and leaves the others of the call to be changed."""


@click.group(cls=WordedGroup, short_help="Look at jobs, change them, and say why one does not run.")
def jobs() -> None:
    """List, show, follow, cancel, reschedule, give up, replay and purge jobs, and say why one does not run.

    A job may wait for a signal, or for an answer about an effect: `signal` and `answer` send these.

    An ID is the full id of a job, as `tenure enqueue` and `tenure jobs list` print it, or its last eight
    characters, as logs and pages show them: these are looked for among the newest 100,000 jobs.
    """


jobs.add_command(list_jobs)
jobs.add_command(show)
jobs.add_command(why)
jobs.add_command(watch)
jobs.add_command(logs)
jobs.add_command(purge)
jobs.add_command(steps)
jobs.add_command(signal)
jobs.add_command(answer)


@jobs.command(short_help="Cancel jobs.")
@jobs_argument
@click.option("--reason", metavar="TEXT", help="Why; recorded in the history of the job.")
@database_option
@json_option
@click.pass_context
def cancel(
    ctx: click.Context, jobs: tuple[JobName, ...], reason: str | None, database: str, as_json: bool
) -> None:
    """Cancel jobs: a waiting one at once, a running one as soon as its worker has stopped it.

    A job that is already cancelled is no failure. One that ended otherwise is, and stays as it is.
    """

    async def one(client: JobClient, job: UUID) -> JobStanding:
        standing = await client.cancel(job, actor=ACTOR, reason=reason)
        if standing.state.is_final and standing.state is not State.CANCELLED:
            raise WrongState(f"job {job} has ended already: it is {standing.state}")
        return standing

    _each(ctx, database, jobs, one, _standing_printer(as_json=as_json))


@jobs.command(short_help="Let held jobs run.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def accept(ctx: click.Context, jobs: tuple[JobName, ...], database: str, as_json: bool) -> None:
    """Let jobs run that were enqueued with --hold; those accepted before stay as they are."""

    _each(ctx, database, jobs, JobClient.accept, _standing_printer(as_json=as_json))


@jobs.command("give-up", short_help="Make jobs that wait for a retry dead letters.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def give_up(ctx: click.Context, jobs: tuple[JobName, ...], database: str, as_json: bool) -> None:
    """Make jobs that wait for another attempt dead letters, without that attempt.

    A worker, or `tenure api`, does it within moments; `tenure jobs replay` runs such a job again. A job in
    any other state is a failure, and stays as it is.
    """

    async def one(client: JobClient, job: UUID) -> JobStanding:
        standing = await client.give_up(job)
        if standing.state is not State.RETRYING:
            raise WrongState(f"job {job} does not wait for another attempt: it is {standing.state}")
        return standing

    _each(ctx, database, jobs, one, _standing_printer(as_json=as_json))


@jobs.command(short_help="Move jobs that wait to another time.")
@jobs_argument
@moment_option("--at", "Run them at this time, such as 2030-01-31T08:30:00Z; one that has passed means now.")
@click.option(
    "--in",
    "delay",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="Run them after this time from now: in seconds, or like 90s, 15m, 2h, 7d.",
)
@database_option
@json_option
@click.pass_context
def reschedule(
    ctx: click.Context,
    jobs: tuple[JobName, ...],
    at: datetime | None,
    delay: timedelta | None,
    database: str,
    as_json: bool,
) -> None:
    """Move jobs that wait for their time, or for another attempt, to another time.

    Their attempts stay as they are. A job that waits for no time is a failure, and stays as it is.
    """
    if (at is None) == (delay is None):
        problem = "is missing" if at is None else "cannot be combined with --in"
        raise InvalidInput("--at", problem, "give one of --at TIME and --in DURATION")
    _reschedule(ctx, database, jobs, at, delay, as_json=as_json)


@jobs.command("run-now", short_help="Let jobs that wait for a time run now.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def run_now(ctx: click.Context, jobs: tuple[JobName, ...], database: str, as_json: bool) -> None:
    """Let jobs run now that wait for their time, or for another attempt.

    A worker, `tenure serve` or `tenure scheduler` queues them within moments. Their attempts stay as they
    are. A job that waits for no time is a failure, and stays as it is.
    """
    _reschedule(ctx, database, jobs, None, None, as_json=as_json)


@jobs.command("put-back", short_help="Let jobs continue that were put aside.")
@jobs_argument
@database_option
@json_option
@click.pass_context
def put_back(ctx: click.Context, jobs: tuple[JobName, ...], database: str, as_json: bool) -> None:
    """Let jobs continue that were put aside because the database refused to move them.

    Repair their rows first: a job that still cannot be moved is a failure, and stays aside. Outcomes that
    attempts had reported count now; attempts that had reported none are taken from their workers.
    """

    async def one(client: JobClient, job: UUID) -> JobStanding:
        standing = await client.aside_jobs.put_back(job)
        if not standing.moved:
            raise WrongState(f"job {job} is not aside: it is {standing.state}")
        return standing

    _each(ctx, database, jobs, one, _standing_printer(as_json=as_json))


@jobs.command(short_help="Run ended jobs again, as new jobs.")
@jobs_argument
@params_option(
    "New params: JSON, @ and the name of a file, or - for standard input; default: those of the job."
)
@click.option("--force", is_flag=True, help="Replay even if an earlier replay of the job has not ended.")
@database_option
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    jobs: tuple[JobName, ...],
    params: str | None,
    force: bool,
    database: str,
    as_json: bool,
) -> None:
    """Run jobs that have ended again, as new jobs, and print the new ids.

    If an earlier replay of a job has not ended, no new one is made, and its id is printed.
    """
    document = None if params is None else read_params(params)

    async def one(client: JobClient, job: UUID) -> tuple[Replayed, Job]:
        replayed = await client.replay(job, params=document, forced=force)
        return replayed, await client.get(replayed.replay or job)

    def show(answer: tuple[Replayed, Job]) -> None:
        replayed, made = answer
        if as_json:
            print_json(views.Accepted(job_id=made.id, status=made.state))
        else:
            click.echo(made.id)
        if not replayed.fresh:
            click.echo(
                f"job {replayed.job} is being replayed already; --force replays it once more", err=True
            )

    _each(ctx, database, jobs, one, show)


def _reschedule(
    ctx: click.Context,
    database: str,
    jobs: Sequence[JobName],
    at: datetime | None,
    delay: timedelta | None,
    *,
    as_json: bool,
) -> None:
    async def one(client: JobClient, job: UUID) -> Job:
        await client.reschedule(job, run_at=at, delay=delay, actor=ACTOR)
        return await client.get(job)

    def show(found: Job) -> None:
        if as_json:
            print_json(views.Accepted(job_id=found.id, status=found.state))
        else:
            due = "" if found.due_at is None else f", due {moment(found.due_at)}"
            click.echo(f"{found.id} {styled(found.state)}{due}")

    _each(ctx, database, jobs, one, show)


def _each(
    ctx: click.Context,
    database: str,
    jobs: Sequence[JobName],
    one: Callable[[JobClient, UUID], Awaitable[T]],
    show: Callable[[T], None],
) -> None:
    """Change each job, on record, and show what became of it.

    A refusal does not stop the others; the exit code is 1 then.
    """

    async def work(changes: Changes) -> bool:
        refused = False
        for name in jobs:
            try:
                job = await full_id(changes.client, name)
                change = partial(one, changes.client, job)
                show(await changes.make(f"jobs {ctx.info_name}", str(job), change))
            except _REFUSALS as error:
                click.echo(f"Error: {error}", err=True)
                refused = True
        return refused

    parts: Parts = ctx.obj
    if with_changes(parts, database, work):
        ctx.exit(1)


def _standing_printer(*, as_json: bool) -> Callable[[JobStanding], None]:
    def show(standing: JobStanding) -> None:
        if as_json:
            print_json(views.Accepted(job_id=standing.job, status=standing.state))
        else:
            click.echo(f"{standing.job} {styled(standing.state)}")

    return show
