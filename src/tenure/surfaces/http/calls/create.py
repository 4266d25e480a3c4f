"""The control API's calls to record jobs: one, many at once, and a finished one again."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import UNSET

from tenure.api import inputs, views
from tenure.api.dialects.server import SERVER
from tenure.api.shapes import Batch, BatchAccepted, NewJobBody, ReplayBody, given
from tenure.core.errors import InvalidInput
from tenure.core.model.job import KeysTaken, NewJob
from tenure.core.model.states import State
from tenure.core.values.bounds import HORIZON
from tenure.engine.client.client import JobClient
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import MOST_ERRORS, Refusal, invalid, refusal_of, together
from tenure.surfaces.http.calls.intent import document, spec_of

FIELDS = {**SERVER.fields, "time": SERVER.fields["run_at"]}
OF_REPLAYS = {"key": "replayKey"}
_AT_A_TIME = 100
"""Jobs of a batch that are checked before other requests get a turn."""


async def create(context: AppContext, request: Request) -> Response:
    """Record one job."""
    job = await _new_job(context.client, request, request.body)
    [answer] = await context.client.enqueue([job])
    return accepted(answer.id, answer.state)


async def create_all(context: AppContext, request: Request) -> Response:
    """Record jobs, all or none: if any cannot be taken, the answer names every such job."""
    body: Batch = request.body
    answers = await context.client.record(await _new_jobs(context.client, request, body.jobs))
    if isinstance(answers, KeysTaken):
        raise together([_reused(place, by) for place, by in answers.by.items()])
    items = [views.Accepted(job_id=answer.id, status=answer.state) for answer in answers]
    return Response(202, BatchAccepted(items))


async def replay(context: AppContext, request: Request) -> Response:
    """Run a finished job again, as a new job."""
    body: ReplayBody = request.body or ReplayBody()
    params = None if body.params is UNSET else document(body.params, "/params")
    replayed = await context.client.replay(
        request.job, params=params, forced=body.force, key=given(body.replay_key)
    )
    made = await context.client.get(replayed.replay or request.job)
    return accepted(made.id, made.state)


def accepted(job: UUID, state: State) -> Response:
    """The answer to a request that a job be recorded or changed."""
    return Response(202, views.Accepted(job_id=job, status=state), {"location": f"/v1/jobs/{job}"})


def moment(text: str) -> datetime:
    """A time in the past or the future. Raises InvalidInput beyond the longest delay."""
    at = inputs.moment(text)
    if at > datetime.now(UTC) + HORIZON:
        raise InvalidInput("time", "is too far in the future", f"give one within {HORIZON.days} days")
    return at


async def _new_jobs(client: JobClient, request: Request, bodies: Sequence[NewJobBody]) -> list[NewJob]:
    jobs: list[NewJob] = []
    refused: list[Refusal] = []
    for place, body in enumerate(bodies):
        if place % _AT_A_TIME == 0:
            await asyncio.sleep(0)
        try:
            jobs += await client.validate([await _new_job(client, request, body, f"/jobs/{place}")])
        except (InvalidInput, Refusal) as error:
            refused.append(refusal_of(error, FIELDS, f"/jobs/{place}"))
            if len(refused) == MOST_ERRORS:
                break
    if refused:
        raise together(refused)
    return jobs


def _reused(place: int, by: UUID | None) -> Refusal:
    user = "another job of this request" if by is None else f"a different job, {by}"
    detail = f"was used before for {user}; send a new key"
    return invalid("idempotency-key-reused", detail, pointer=f"/jobs/{place}/idempotencyKey")


async def _new_job(client: JobClient, request: Request, body: NewJobBody, within: str = "") -> NewJob:
    version = given(body.definition_version)
    spec = await spec_of(client, request.caller, body.definition_key, version)
    run_at, delay = given(body.run_at), given(body.delay_seconds)
    timeout = given(body.timeout_seconds)
    return spec.new_job(
        document(body.params, f"{within}/params"),
        queue=given(body.queue),
        priority=given(body.priority),
        max_attempts=given(body.max_attempts),
        timeout=None if timeout is None else timedelta(seconds=timeout),
        tags=body.tags,
        concurrency_keys=body.concurrency_keys,
        run_at=None if run_at is None else moment(run_at),
        delay=None if delay is None else timedelta(seconds=delay),
        hold=body.hold,
        idempotency_key=given(body.idempotency_key),
        sent_version=version,
        **request.marks,
    )
