"""Tasks that repeat: each is a schedule, whose name is the task's id. Each tick makes a task of its own."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4, uuid5

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tenure.api.dialects.tasks import TASKS
from tenure.api.shapes import given
from tenure.api.task_shapes import NewTask, Repeat, Task
from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Schedule, ScheduledJob, ScheduleName, Source
from tenure.core.values.bounds import printable
from tenure.engine.schedules.schedules import ScheduleNotFound, Schedules, ScheduleTaken
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.calls.create import moment
from tenure.surfaces.http.calls.intent import document, spec_of
from tenure.surfaces.http.calls.schedule_bodies import moment_in, span
from tenure.surfaces.http.calls.schedule_names import refusals

FIELDS = {
    "cron": "repeat/cron",
    "every": "repeat/everySeconds",
    "timezone": "repeat/timezone",
    "endsAt": "repeat/until",
    "remaining": "repeat/count",
}
"""The engine's names of fields, and their places in a task."""

MOST_REPEATING = 1_000
"""How many tasks of a namespace may repeat at a time, for keys that may only submit."""

_KEYS = UUID("6f1d6a52-4c0c-4f2e-9a43-6a5b6b4f7c11")
"""The namespace, in the sense of RFC 4122, of ids that are derived from keys."""


class _Ask(Struct, frozen=True):
    """A task that is to repeat: what was sent, and the name that its schedule gets."""

    body: NewTask
    repeat: Repeat
    name: ScheduleName
    creator: str | None


async def create(context: AppContext, request: Request, repeat: Repeat) -> Schedule:
    """Record a task that repeats, or find the one that has its key."""
    body: NewTask = request.body
    _check(request.caller, body, repeat)
    await spec_of(context.client, request.caller, body.type)
    namespace = request.marks["namespace"]
    key = given(body.idempotency_key)
    ask = _Ask(body, repeat, ScheduleName(namespace, str(_id(namespace, key))), request.caller.key)
    schedules = context.client.schedules
    if key is not None and (known := await _known(schedules, ask.name)) is not None:
        return _same(ask, known)
    new = _asked(ask, _start(body, await schedules.now()))
    await _check_room(context, request)
    try:
        return await schedules.create(new, by=request.caller.name)
    except ScheduleTaken:
        # Another request with the same key came first.
        return _same(ask, await schedules.get(ask.name))


async def find(context: AppContext, caller: Caller, task: UUID) -> Schedule | None:
    """The repetition that has a task's id, if the caller may see it."""
    if caller.definitions:
        return None
    async with refusals():
        return await context.client.schedules.repetition(str(task), namespace=caller.namespace)


async def creator_of(context: AppContext, namespace: str, creator: str | None) -> str | None:
    """The key that asked for a job: for one that a repetition made, the key that asked for that."""
    name = (creator or "").removeprefix("schedule:")
    if creator is None or name == creator:
        return creator
    found = await _known(context.client.schedules, ScheduleName(namespace, name))
    return creator if found is None else found.asked.creator


def item(schedule: Schedule) -> Task:
    """A task that repeats, as it is shown."""
    return Task(
        task_id=UUID(schedule.asked.id),
        type=schedule.asked.job.definition,
        state=word(schedule),
        created_at=schedule.created_at,
        reserved_at=None,
        retry_count=0,
    )


def word(schedule: Schedule) -> str:
    """The state of a task that repeats: delayed until its last tick, or until it is aborted."""
    if not schedule.has_ended:
        return str(TASKS.words[State.SCHEDULED])
    return str(TASKS.words[State.CANCELLED if schedule.is_aborted else State.SUCCEEDED])


def _check(caller: Caller, body: NewTask, repeat: Repeat) -> None:
    if caller.definitions:
        raise Refusal("insufficient-scope", "a key that is bound to definitions sends each task by itself")
    if (repeat.cron is UNSET) == (repeat.every_seconds is UNSET):
        raise invalid("validation", "needs exactly one of everySeconds and cron", pointer="/repeat")
    if body.run_at is not UNSET and body.delay_seconds is not UNSET:
        raise invalid("validation", "is given together with runAt; give one of them", pointer="/delaySeconds")


async def _check_room(context: AppContext, request: Request) -> None:
    """Refuse a key that may only submit if the namespace has too many; operators answer for what they do."""
    if "operate" in request.caller.scopes:
        return
    namespace = request.marks["namespace"]
    if await context.client.schedules.repetitions(namespace, most=MOST_REPEATING) >= MOST_REPEATING:
        raise Refusal(
            "quota",
            f"{MOST_REPEATING:,} tasks of the namespace {namespace} repeat already; nothing was recorded: "
            "abort one that is not needed, give them a count or an end, or send it with the scope operate",
        )


def _id(namespace: str, key: str | None) -> UUID:
    """The id of a new task. The same key means the same id, so that the primary key of schedules decides."""
    if key is None:
        return uuid4()
    printable("idempotencyKey", key, least=1)
    return uuid5(_KEYS, f"{namespace}\n{key}")


def _start(body: NewTask, now: datetime) -> datetime:
    """When it may begin: at the time that was sent, or now."""
    if body.run_at is not UNSET:
        return moment(body.run_at)
    return now + timedelta(seconds=given(body.delay_seconds) or 0)


def _asked(ask: _Ask, starts_at: datetime) -> NewSchedule:
    body, repeat = ask.body, ask.repeat
    ends_at = None if repeat.until is UNSET else moment_in("endsAt", repeat.until)
    if ends_at is not None and ends_at < starts_at:
        raise InvalidInput("endsAt", "has passed: it would never be due", "give a later one, or none")
    return NewSchedule(
        id=ask.name.name,
        namespace=ask.name.namespace,
        job=ScheduledJob(
            definition=body.type,
            params=document(body.payload, "/payload"),
            max_attempts=given(body.max_retries),
            timeout=span(given(body.timeout_seconds)),
            on_lost=given(body.on_lost),
        ),
        recurrence=Recurrence(
            cron=given(repeat.cron),
            every=span(given(repeat.every_seconds)),
            timezone=given(repeat.timezone) or "UTC",
            starts_at=starts_at,
            ends_at=ends_at,
        ),
        remaining=given(repeat.count),
        source=Source.TASK,
        creator=ask.creator,
    )


def _same(ask: _Ask, known: Schedule) -> Schedule:
    """The task that has the key, if the same was asked for; a delay began when that was recorded."""
    begun = known.asked.recurrence.starts_at
    new = _asked(ask, begun if ask.body.run_at is UNSET else moment(ask.body.run_at))
    if replace(new, creator=known.asked.creator, is_paused=known.asked.is_paused) != known.asked:
        detail = f"was used before for a different task, {known.asked.id}; send a new key"
        raise invalid("idempotency-key-reused", detail, pointer="/idempotencyKey")
    return known


async def _known(schedules: Schedules, name: ScheduleName) -> Schedule | None:
    try:
        return await schedules.get(name)
    except ScheduleNotFound:
        return None
