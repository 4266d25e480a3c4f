"""The control API's ways to record jobs: one, many at once, and a finished one again."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from msgspec import UNSET

from tenure.core.bounds import HORIZON
from tenure.core.errors import InvalidInput
from tenure.core.job import NewJob, Taken
from tenure.core.states import State
from tenure.engine.client import Client
from tenure.surfaces import inputs, views
from tenure.surfaces.dialects.server import SERVER
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.intent import document, spec_of
from tenure.surfaces.http.problems import MOST_ERRORS, Refusal, invalid, refusal_of, together
from tenure.surfaces.http.shapes import Batch, BatchAccepted, NewJobBody, ReplayBody, given

FIELDS = {**SERVER.fields, "time": SERVER.fields["run_at"]}
OF_REPLAYS = {"key": "replayKey"}
_AT_A_TIME = 100
"""Jobs of a batch that are read before others have their turn."""


async def create(desk: Desk, asked: Asked) -> Answer:
    """Record one job."""
    job = await _new_job(desk.client, asked, asked.body)
    [answer] = await desk.client.enqueue([job])
    return accepted(answer.id, answer.state)


async def create_all(desk: Desk, asked: Asked) -> Answer:
    """Record jobs, all or none: every one that cannot be taken is told by its place, and keeps out all."""
    body: Batch = asked.body
    answers = await desk.client.record(await _new_jobs(desk.client, asked, body.jobs))
    if isinstance(answers, Taken):
        raise together([_reused(place, by) for place, by in answers.by.items()])
    items = [views.Accepted(job_id=answer.id, status=answer.state) for answer in answers]
    return Answer(202, BatchAccepted(items))


async def replay(desk: Desk, asked: Asked) -> Answer:
    """Run a finished job again, as a new one."""
    body: ReplayBody = asked.body or ReplayBody()
    params = None if body.params is UNSET else document(body.params, "/params")
    replayed = await desk.client.replay(
        asked.job, params=params, forced=body.force, key=given(body.replay_key)
    )
    made = await desk.client.get(replayed.replay or asked.job)
    return accepted(made.id, made.state)


def accepted(job: UUID, state: State) -> Answer:
    """The answer to whoever asked for something to become of a job."""
    return Answer(202, views.Accepted(job_id=job, status=state), {"location": f"/v1/jobs/{job}"})


def moment(text: str) -> datetime:
    """A time to come, or one that has passed; not one beyond the longest wait that can be asked for."""
    at = inputs.moment(text)
    if at > datetime.now(UTC) + HORIZON:
        raise InvalidInput("time", "is too far ahead", f"give one within {HORIZON.days} days")
    return at


async def _new_jobs(client: Client, asked: Asked, bodies: Sequence[NewJobBody]) -> list[NewJob]:
    jobs: list[NewJob] = []
    refused: list[Refusal] = []
    for place, body in enumerate(bodies):
        if place % _AT_A_TIME == 0:
            await asyncio.sleep(0)
        try:
            jobs += await client.judge([await _new_job(client, asked, body, f"/jobs/{place}")])
        except (InvalidInput, Refusal) as error:
            refused.append(refusal_of(error, FIELDS, f"/jobs/{place}"))
            if len(refused) == MOST_ERRORS:
                break
    if refused:
        raise together(refused)
    return jobs


def _reused(place: int, by: UUID | None) -> Refusal:
    whose = "another job of this request" if by is None else f"job {by}"
    said = f"was used before for something else, by {whose}"
    return invalid("idempotency-key-reused", said, pointer=f"/jobs/{place}/idempotencyKey")


async def _new_job(client: Client, asked: Asked, body: NewJobBody, within: str = "") -> NewJob:
    version = given(body.definition_version)
    spec = await spec_of(client, asked.caller, body.definition_key, version)
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
        **asked.marks,
    )
