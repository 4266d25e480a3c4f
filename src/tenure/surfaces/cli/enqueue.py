"""`tenure enqueue KEY`: record a job of a definition that a worker has registered."""

import os
from typing import Any

import click

from tenure.core.documents import Document
from tenure.core.errors import UnknownDefinition
from tenure.core.job import Enqueued, Job
from tenure.core.spec import Spec
from tenure.core.traceparent import kept
from tenure.engine.client import Client
from tenure.engine.results import result_of
from tenure.surfaces import inputs, views
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.known import unknown
from tenure.surfaces.cli.options import (
    key_argument,
    moment_option,
    params_option,
    read_by,
    read_params,
    version_option,
)
from tenure.surfaces.cli.output import json_option, plain, print_json
from tenure.surfaces.redaction import Redaction


@click.command()
@key_argument
@params_option("The params: JSON, a file that holds it, or - for standard input. {} without it.", "{}")
@version_option
@click.option("--queue", metavar="NAME", help="Another queue than the definition's.")
@click.option("--priority", type=int, metavar="N", help="From -32767 to 32767; higher goes first.")
@click.option(
    "--delay",
    metavar="DURATION",
    callback=read_by(inputs.duration),
    help="Run it so much later: seconds, or such as 90s, 15m, 2h, 7d.",
)
@moment_option("--run-at", "Run it at this time, such as 2030-01-31T08:30:00Z.")
@click.option("--idempotency-key", metavar="TEXT", help="The same key again answers with the same job.")
@click.option("--max-attempts", type=int, metavar="N", help="How often it may be tried, 1 to 100.")
@click.option("--tag", "tags", multiple=True, metavar="NAME", help="To find it by; may be given often.")
@click.option(
    "--concurrency-key",
    "concurrency_keys",
    multiple=True,
    metavar="TEXT",
    help="What the definition's concurrency counts for apart; may be given often.",
)
@click.option("--hold", is_flag=True, help="Record it, but keep it back until `tenure jobs accept`.")
@click.option("--wait", is_flag=True, help="Wait until it has ended, and print its result.")
@database_option
@json_option
@click.pass_obj
def enqueue(
    parts: Parts, /, database: str, key: str, params: str, wait: bool, as_json: bool, **asked: Any
) -> None:
    """Record a job of the definition KEY and print its id.

    Once the id is printed, the job is kept. The definition is one that a worker on this database has
    registered. With --wait the exit code is 0 when the job succeeded, and 1 when it ended otherwise.
    """
    document = read_params(params)

    async def work(client: Client) -> Job | None:
        spec = await _spec(client, key, asked["version"])
        enqueued = await _record(client, spec, document, **asked)
        _tell(enqueued, as_json=as_json)
        return await client.wait(enqueued.id) if wait else None

    ended = with_client(parts, database, work)
    if ended is not None:
        _end(ended, redaction_in_force(), as_json=as_json)


async def _spec(client: Client, key: str, version: int | None) -> Spec:
    try:
        return await client.spec(key, version)
    except UnknownDefinition:
        raise unknown(key, version, await client.definitions()) from None


async def _record(
    client: Client, spec: Spec, document: Document, *, version: int | None, **asked: Any
) -> Enqueued:
    # As a program of a job is told what it follows from; and whoever else runs commands in a trace.
    traceparent = kept(os.environ.get("TRACEPARENT"))
    job = spec.new_job(document, sent_version=version, traceparent=traceparent, **asked)
    [enqueued] = await client.enqueue([job])
    return enqueued


def _tell(enqueued: Enqueued, *, as_json: bool) -> None:
    if as_json:
        print_json(views.Accepted(job_id=enqueued.id, status=enqueued.state))
    else:
        click.echo(enqueued.id)
    if not enqueued.fresh:
        click.echo(f"the key was used before, for this job; it is {enqueued.state}", err=True)


def _end(job: Job, redaction: Redaction, *, as_json: bool) -> None:
    if as_json:
        print_json(views.job_detail(job, redaction))
    shown = views.redacted(job, redaction)
    result_of(shown)
    if not as_json and shown.result is not None:
        click.echo(plain(shown.result))
