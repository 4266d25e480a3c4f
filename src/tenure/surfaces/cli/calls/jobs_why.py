"""`tenure jobs why`: why a job does not run; and the same for commands that wait for one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

import click

from tenure.api.redaction import Redaction
from tenure.api.why_shapes import WhyItem, why_item
from tenure.core.errors import JobNotFound, StoreError
from tenure.core.reports.why import WhyCode
from tenure.core.values.text import plain
from tenure.engine.client.client import JobClient
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.job_ids import JobName, full_id
from tenure.surfaces.cli.options import job_argument
from tenure.surfaces.cli.output import json_option, print_json

LOOK_EVERY = 1.0
"""Seconds between looks at what a job waits for."""

_UNTOLD = frozenset({WhyCode.RUNNING, WhyCode.FINISHED})


@click.command(short_help="Say why a job does not run, and what to do.")
@job_argument
@database_option
@json_option
@click.pass_obj
def why(parts: Parts, job: JobName, database: str, as_json: bool) -> None:
    """Say in a sentence why a job does not run, and what to do about it.

    Further obstacles follow, a line each: they would keep it from running once the first is gone.
    """
    redaction = redaction_in_force()

    async def work(client: JobClient) -> WhyItem:
        return why_item(await client.why(await full_id(client, job)), redaction)

    found = with_client(parts, database, work)
    if as_json:
        print_json(found)
        return
    click.echo(plain(found.sentence))
    for one in found.data.also:
        click.echo(f"Also: {plain(one.sentence)}")


@asynccontextmanager
async def telling_why(
    client: JobClient, job: UUID, on_reason: Callable[[str], None], redaction: Redaction
) -> AsyncIterator[None]:
    """While inside, call `on_reason` with what keeps the job from running, and again if that is another."""
    telling = asyncio.create_task(_tell(client, job, on_reason, redaction))
    try:
        yield
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling


async def _tell(client: JobClient, job: UUID, on_reason: Callable[[str], None], redaction: Redaction) -> None:
    told = None
    while True:
        # Not at once: a job that starts soon needs no explanation.
        await asyncio.sleep(LOOK_EVERY)
        try:
            found = why_item(await client.why(job), redaction)
        except JobNotFound:
            return
        except StoreError:
            continue
        # A sentence may count seconds: it is told again only if something has changed.
        if (found.code, found.until) != told and found.code not in _UNTOLD:
            on_reason(plain(found.sentence))
        told = (found.code, found.until)
