"""The bodies of the task API, `/tasks`."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.dialects.tasks import TASKS
from tenure.api.schedule_shapes import Cron, Interval, Remaining, Timezone
from tenure.api.shapes import Key, Name, Planned, Seconds, Timeout
from tenure.core.model.policy import OnLost

TaskState = Annotated[str, Meta(extra_json_schema={"enum": sorted({*map(str, TASKS.words.values())})})]


class Repeat(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How a task repeats: by `everySeconds` or by `cron`, so often or until a time, or for ever."""

    every_seconds: Interval | UnsetType = UNSET
    cron: Cron | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    count: Remaining | UnsetType = UNSET
    until: Planned | UnsetType = UNSET


class NewTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A task, to run now, after a delay, at a time, or again and again.

    `maxRetries` is the total number of attempts. Only a task that repeats takes an `idempotencyKey`.
    """

    type: Name
    payload: Raw | UnsetType = UNSET
    delay_seconds: Seconds | UnsetType = UNSET
    run_at: Planned | UnsetType = UNSET
    repeat: Repeat | UnsetType = UNSET
    timeout_seconds: Timeout | UnsetType = UNSET
    max_retries: Annotated[int, Meta(ge=1, le=100)] | UnsetType = UNSET
    on_lost: OnLost | UnsetType = UNSET
    idempotency_key: Key | UnsetType = UNSET


class TaskAccepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The task's id and state."""

    task_id: UUID
    state: TaskState


class Task(Struct, frozen=True, kw_only=True, rename="camel"):
    """A task: its state, when it was last reserved, and how often it has failed."""

    task_id: UUID
    type: str
    state: TaskState
    created_at: datetime
    reserved_at: datetime | None
    retry_count: int
