"""The task API, `/tasks`: work for now or later, in the vocabulary of tasks. A task is a job."""

from datetime import timedelta
from uuid import UUID

from msgspec import UNSET

from tenure.api.dialects.tasks import TASKS
from tenure.api.shapes import given
from tenure.api.task_shapes import NewTask, Task, TaskAccepted
from tenure.core.errors import JobIsAside, NoRoom
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.calls.create import moment
from tenure.surfaces.http.calls.intent import document, no_room, spec_of

FIELDS = {**TASKS.fields, "time": TASKS.fields["run_at"]}
WAITING = TASKS.matching("Ready") | TASKS.matching("Delayed")
"""The states in which a task can be aborted: no worker has it, and it has not ended."""


async def create(context: AppContext, request: Request) -> Response:
    """Record a task: ready, or delayed when its time is in the future."""
    body: NewTask = request.body
    if body.repeat is not UNSET:
        detail = "repeating tasks need schedules, which are not supported yet; send each task by itself"
        raise invalid("validation", detail, pointer="/repeat")
    spec = await spec_of(context.client, request.caller, body.type)
    run_at, delay = given(body.run_at), given(body.delay_seconds)
    timeout = given(body.timeout_seconds)
    job = spec.new_job(
        document(body.payload, "/payload"),
        max_attempts=given(body.max_retries),
        timeout=None if timeout is None else timedelta(seconds=timeout),
        run_at=None if run_at is None else moment(run_at),
        delay=None if delay is None else timedelta(seconds=delay),
        **request.marks,
    )
    try:
        [answer] = await context.client.enqueue([job])
    except NoRoom:
        raise no_room() from None
    return _accepted(answer.id, answer.state)


async def status(context: AppContext, request: Request) -> Response:
    """The state of a task."""
    job = await context.client.get(request.job)
    return Response(
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


async def abort(context: AppContext, request: Request) -> Response:
    """Abort a task that waits. One that runs, or has ended, stays as it is."""
    _check_own(request.caller, await context.client.get(request.job))
    try:
        standing = await context.client.cancel(request.job, actor=request.caller.actor, states=WAITING)
    except JobIsAside:
        raise Refusal(
            "job-state", "the database refuses to move this task; ask an operator to mend it"
        ) from None
    if not standing.moved:
        detail = f"the task is {_word(standing.state)}; only a Ready or Delayed task can be aborted"
        raise Refusal("job-state", detail)
    return _accepted(standing.job, standing.state)


def _check_own(caller: Caller, job: Job) -> None:
    """Refuse a key that may only submit and did not record the job; a job never changes its creator."""
    if "operate" not in caller.scopes and job.creator != caller.key:
        raise Refusal(
            "insufficient-scope", "another key recorded this task; aborting it needs the scope operate"
        )


def _accepted(task: UUID, state: State) -> Response:
    return Response(202, TaskAccepted(task_id=task, state=_word(state)), {"location": f"/tasks/{task}"})


def _word(state: State) -> str:
    return str(TASKS.words[state])
