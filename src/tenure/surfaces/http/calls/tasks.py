"""The task API, `/tasks`: work for now, later or again, in the vocabulary of tasks.

A task is a job; one that repeats is a schedule, and each of its ticks makes a task.
"""

from datetime import timedelta
from uuid import UUID

from msgspec import UNSET

from tenure.api.dialects.tasks import TASKS
from tenure.api.shapes import given
from tenure.api.task_shapes import NewTask, Task, TaskAccepted
from tenure.core.errors import JobIsAside, JobNotFound, NoRoom
from tenure.core.model.job import Job
from tenure.core.model.loss import with_on_lost
from tenure.core.model.states import State
from tenure.core.schedule.schedule import Schedule
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.calls import repeats
from tenure.surfaces.http.calls.create import moment
from tenure.surfaces.http.calls.intent import document, no_room, spec_of

FIELDS = {**TASKS.fields, **repeats.FIELDS, "time": TASKS.fields["run_at"], "on_lost": "onLost"}
WAITING = TASKS.matching("Ready") | TASKS.matching("Delayed")
"""The states in which a task can be aborted: no worker has it, and it has not ended."""


async def create(context: AppContext, request: Request) -> Response:
    """Record a task: ready, or delayed when its time is in the future."""
    body: NewTask = request.body
    if body.repeat is not UNSET:
        made = await repeats.create(context, request, body.repeat)
        return _accepted(UUID(made.asked.id), repeats.word(made))
    if body.idempotency_key is not UNSET:
        detail = "is for tasks that repeat; leave it out, or send the job to POST /v1/jobs, which takes a key"
        raise invalid("idempotency-key", detail, pointer="/idempotencyKey")
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
    if body.on_lost is not UNSET:
        job = with_on_lost(job, spec, body.on_lost, given(body.max_retries))
    try:
        [answer] = await context.client.enqueue([job])
    except NoRoom:
        raise no_room() from None
    return _accepted(answer.id, _word(answer.state))


async def status(context: AppContext, request: Request) -> Response:
    """The state of a task."""
    job = await _found(context, request)
    if isinstance(job, Schedule):
        return Response(200, repeats.item(job))
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
    """Abort a task that waits. One that runs, or has ended, stays as it is.

    One that repeats does so no more; tasks that it has made already stay.
    """
    job = await _found(context, request)
    if isinstance(job, Schedule):
        return await _abort_repeat(context, request, job)
    await _check_own(context, request.caller, job)
    try:
        standing = await context.client.cancel(request.job, actor=request.caller.actor, states=WAITING)
    except JobIsAside:
        raise Refusal(
            "job-state", "the database refuses to move this task; ask an operator to mend it"
        ) from None
    if not standing.moved:
        raise _not_waiting(_word(standing.state))
    return _accepted(standing.job, _word(standing.state))


async def _found(context: AppContext, request: Request) -> Job | Schedule:
    """The task of the path, or the repetition of one. What the caller may not see does not exist for it."""
    try:
        job = await context.client.get(request.job)
    except JobNotFound:
        repeat = await repeats.find(context, request.caller, request.job)
        if repeat is None:
            raise
        return repeat
    if not request.caller.sees(job):
        raise JobNotFound(job.id)
    return job


async def _abort_repeat(context: AppContext, request: Request, repeat: Schedule) -> Response:
    _check_creator(request.caller, repeat.asked.creator)
    ended = await context.client.schedules.abort(repeat.name, by=request.caller.actor)
    if ended.revision == repeat.revision:
        raise _not_waiting(repeats.word(ended))
    return _accepted(request.job, repeats.word(ended))


async def _check_own(context: AppContext, caller: Caller, job: Job) -> None:
    """Refuse a key that may only submit and did not ask for the job; a job never changes its creator."""
    if "operate" not in caller.scopes:
        _check_creator(caller, await repeats.creator_of(context, job.namespace, job.creator))


def _check_creator(caller: Caller, creator: str | None) -> None:
    if "operate" not in caller.scopes and creator != caller.key:
        raise Refusal(
            "insufficient-scope", "another key recorded this task; aborting it needs the scope operate"
        )


def _not_waiting(state: str) -> Refusal:
    return Refusal("job-state", f"the task is {state}; only a Ready or Delayed task can be aborted")


def _accepted(task: UUID, state: str) -> Response:
    return Response(202, TaskAccepted(task_id=task, state=state), {"location": f"/tasks/{task}"})


def _word(state: State) -> str:
    return str(TASKS.words[state])
