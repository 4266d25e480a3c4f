"""What operators see of failures: dead letters by cause, jobs that fail again and again."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.core.model.lease import Line
from tenure.core.values.failure import Failure

MOST_COUNTED = 1_000
"""The bound up to which jobs are counted one by one."""


class Count(Struct, frozen=True):
    """A number of jobs; with `is_more` a lower bound, since counting stopped there."""

    n: int
    is_more: bool = False

    def __str__(self) -> str:
        return f"{self.n:,}{'+' if self.is_more else ''}"


class DeadGroup(Struct, frozen=True, kw_only=True):
    """Dead letters of one definition with the same cause; `job` and `error` are of the newest."""

    fingerprint: str
    definition: str
    count: Count
    newest: datetime
    oldest: datetime
    job: UUID
    error: Failure | None


class DeadGroups(Struct, frozen=True):
    """Groups of dead letters, by the time of their newest, the latest first. `is_more`: there are others."""

    groups: Sequence[DeadGroup]
    is_more: bool


class Struggling(Struct, frozen=True, kw_only=True):
    """A job that has failed repeatedly and waits for its next attempt."""

    job: UUID
    line: Line
    failures: int
    max_attempts: int
    due_at: datetime | None


class Trouble(Struct, frozen=True, kw_only=True):
    """What goes wrong with single jobs.

    `overdue` counts jobs whose lease has run out and that are not reaped yet; `dead` counts the dead letters
    since the time asked for.
    """

    at: datetime
    struggling: Sequence[Struggling]
    overdue: int
    dead: Count
