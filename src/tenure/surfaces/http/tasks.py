"""The task API, `/tasks`: what is to be done now or later, in the words of tasks. A task is a job."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.core.errors import JobIsAside, NoRoom
from tenure.core.job import Job
from tenure.core.states import State
from tenure.surfaces.dialects.tasks import TASKS
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.creating import moment
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.intent import document, no_room, spec_of
from tenure.surfaces.http.problems import Refusal, invalid
from tenure.surfaces.http.shapes import Name, Planned, Seconds, Timeout, given

FIELDS = {**TASKS.fields, "time": TASKS.fields["run_at"]}
WAITING = TASKS.matching("Ready") | TASKS.matching("Delayed")
"""Where a task can be aborted: nobody owns it, and it has not ended."""

TaskState = Annotated[str, Meta(extra_json_schema={"enum": sorted({*map(str, TASKS.words.values())})})]
Repeat = Annotated[Raw, Meta(description="not taken yet", extra_json_schema={"not": {}})]


class NewTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A task, to be done now, after a delay or at a time; `maxRetries` is how often it is tried at all."""

    type: Name
    payload: Raw | UnsetType = UNSET
    delay_seconds: Seconds | UnsetType = UNSET
    run_at: Planned | UnsetType = UNSET
    repeat: Repeat | UnsetType = UNSET
    timeout_seconds: Timeout | UnsetType = UNSET
    max_retries: Annotated[int, Meta(ge=1, le=100)] | UnsetType = UNSET


class TaskAccepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which task it is, and where it stands."""

    task_id: UUID
    state: TaskState


class Task(Struct, frozen=True, kw_only=True, rename="camel"):
    """A task as it stands: when it was last reserved, and how often it has failed."""

    task_id: UUID
    type: str
    state: TaskState
    created_at: datetime
    reserved_at: datetime | None
    retry_count: int


async def create(desk: Desk, asked: Asked) -> Answer:
    """Record a task: ready, or delayed when its time is ahead."""
    body: NewTask = asked.body
    if body.repeat is not UNSET:
        said = "tasks that repeat come with schedules, which are not here yet; send each one by itself"
        raise invalid("validation", said, pointer="/repeat")
    spec = await spec_of(desk.client, asked.caller, body.type)
    run_at, delay = given(body.run_at), given(body.delay_seconds)
    timeout = given(body.timeout_seconds)
    job = spec.new_job(
        document(body.payload, "/payload"),
        max_attempts=given(body.max_retries),
        timeout=None if timeout is None else timedelta(seconds=timeout),
        run_at=None if run_at is None else moment(run_at),
        delay=None if delay is None else timedelta(seconds=delay),
        **asked.marks,
    )
    try:
        [answer] = await desk.client.enqueue([job])
    except NoRoom:
        raise no_room() from None
    return _accepted(answer.id, answer.state)


async def status(desk: Desk, asked: Asked) -> Answer:
    """Where a task stands."""
    job = await desk.client.get(asked.job)
    return Answer(
        200,
        Task(
            task_id=job.id,
            type=job.definition,
            state=_word(job.state),
            created_at=job.created_at,
            reserved_at=job.started_at,
            retry_count=job.failures,
        ),
    )


async def abort(desk: Desk, asked: Asked) -> Answer:
    """Let a task that waits never be done. One that runs, or has ended, stays as it is."""
    _check_own(asked.caller, await desk.client.get(asked.job))
    try:
        standing = await desk.client.cancel(asked.job, actor=asked.caller.actor, states=WAITING)
    except JobIsAside:
        raise Refusal(
            "job-state", "the task cannot be moved at present; an operator has to see to it"
        ) from None
    if not standing.moved:
        said = f"the task is {_word(standing.state)}; only one that is Ready or Delayed can be aborted"
        raise Refusal("job-state", said)
    return _accepted(standing.job, standing.state)


def _check_own(caller: Caller, job: Job) -> None:
    """Refuse what is another's: a key that may only submit has no say in it. Whose a job is never changes."""
    if "operate" not in caller.scopes and job.creator != caller.key:
        raise Refusal("insufficient-scope", "another key asked for this task; to abort it needs operate")


def _accepted(task: UUID, state: State) -> Answer:
    return Answer(202, TaskAccepted(task_id=task, state=_word(state)), {"location": f"/tasks/{task}"})


def _word(state: State) -> str:
    return str(TASKS.words[state])
