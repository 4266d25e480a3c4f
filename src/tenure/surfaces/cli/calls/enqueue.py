"""`tenure enqueue KEY`: record a job of a definition that a worker has registered."""

import os
from datetime import timedelta
from typing import Any
from uuid import UUID

import click

from tenure.api import inputs, views
from tenure.api.redaction import Redaction
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.model.job import Enqueued, Job
from tenure.core.model.spec import Spec
from tenure.core.values.documents import Document
from tenure.core.values.text import plain
from tenure.core.values.traceparent import kept
from tenure.engine.client.client import JobClient
from tenure.engine.client.outcome import result_of
from tenure.surfaces.cli.calls.definition_lookup import unknown
from tenure.surfaces.cli.calls.jobs_why import telling_why
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.exit_codes import NotInTime
from tenure.surfaces.cli.options import (
    key_argument,
    moment_option,
    params_option,
    read_by,
    read_params,
    version_option,
)
from tenure.surfaces.cli.output import json_option, print_json


@click.command(context_settings={"allow_extra_args": True})
@key_argument
@params_option("Params: JSON, @ and the name of a file, or - for standard input; default: {}.", "{}")
@version_option
@click.option("--queue", metavar="NAME", help="Queue in place of the definition's.")
@click.option("--priority", type=int, metavar="N", help="From -32767 to 32767; higher runs first.")
@click.option(
    "--delay",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="Run it after this time: in seconds, or like 90s, 15m, 2h, 7d.",
)
@moment_option("--run-at", "Run it at this time, such as 2030-01-31T08:30:00Z.")
@click.option(
    "--idempotency-key", metavar="TEXT", help="A second call with the same key returns the same job."
)
@click.option("--max-attempts", type=int, metavar="N", help="How often the job may be tried, 1 to 100.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="Tag to find the job by; may be repeated.")
@click.option(
    "--concurrency-key",
    "concurrency_keys",
    multiple=True,
    metavar="TEXT",
    help="Count the definition's concurrency for this key separately; may be repeated.",
)
@click.option("--hold", is_flag=True, help="Record the job, but do not run it before `tenure jobs accept`.")
@click.option("--wait", is_flag=True, help="Wait until the job has ended, and print its result.")
@click.option(
    "--timeout",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="With --wait: wait no longer than this; the job stays as it is.",
)
@database_option
@json_option
@click.pass_obj
def enqueue(
    parts: Parts,
    /,
    database: str,
    key: str,
    params: str,
    wait: bool,
    timeout: timedelta | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Record a job of the definition KEY and print its id.

    Once the id is printed, the job is stored and will not be lost. A worker on this database must have
    registered the definition. With --wait the exit code is 0 if the job succeeds, 1 if it ends otherwise, and
    4 if it has not ended within --timeout; while the job does not run, standard error says why.
    """
    if click.get_current_context().args:
        # What stands there may be private params: it is not repeated.
        remedy = "give params as --params JSON, --params @FILE or --params -"
        raise InvalidInput("KEY", "is followed by something that is not an option", remedy)
    if timeout is not None and not wait:
        raise InvalidInput("--timeout", "says how long to wait", "add --wait")
    document = read_params(params)
    redaction = redaction_in_force()

    async def work(client: JobClient) -> Job | None:
        spec = await _spec(client, key, options["version"])
        enqueued = await _record(client, spec, document, **options)
        _print_enqueued(enqueued, as_json=as_json)
        return await _ended(client, enqueued.id, timeout, redaction) if wait else None

    ended = with_client(parts, database, work)
    if ended is not None:
        _print_result(ended, redaction, as_json=as_json)


async def _ended(client: JobClient, job: UUID, timeout: timedelta | None, redaction: Redaction) -> Job:
    seconds = None if timeout is None else timeout.total_seconds()
    try:
        async with telling_why(client, job, lambda sentence: click.echo(sentence, err=True), redaction):
            return await client.wait(job, seconds, explains=True)
    except TimeoutError as late:
        raise NotInTime(
            redaction.text(f"{late} The job stays; follow it with `tenure jobs watch {job}`.")
        ) from None


async def _spec(client: JobClient, key: str, version: int | None) -> Spec:
    try:
        return await client.spec(key, version)
    except UnknownDefinition:
        raise unknown(key, version, await client.definitions()) from None


async def _record(
    client: JobClient, spec: Spec, document: Document, *, version: int | None, **options: Any
) -> Enqueued:
    # Set for a program that runs as a job, and by other tools that run commands in a trace.
    traceparent = kept(os.environ.get("TRACEPARENT"))
    job = spec.new_job(document, sent_version=version, traceparent=traceparent, **options)
    [enqueued] = await client.enqueue([job])
    return enqueued


def _print_enqueued(enqueued: Enqueued, *, as_json: bool) -> None:
    if as_json:
        print_json(views.Accepted(job_id=enqueued.id, status=enqueued.state))
    else:
        click.echo(enqueued.id)
    if not enqueued.fresh:
        click.echo(f"the idempotency key was used before, for this job; it is {enqueued.state}", err=True)


def _print_result(job: Job, redaction: Redaction, *, as_json: bool) -> None:
    if as_json:
        print_json(views.job_detail(job, redaction))
    shown = views.redacted(job, redaction)
    result_of(shown)
    if not as_json and shown.result is not None:
        click.echo(plain(shown.result))
