"""What operators see of trouble: dead letters by what they died of, jobs that fail again and again."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.core.lease import Line
from tenure.core.outcome import Failure

MOST_COUNTED = 1_000
"""How far is counted where nothing keeps a total."""


class Count(Struct, frozen=True):
    """How many; with `is_more` at least so many, since nobody counted any further."""

    n: int
    is_more: bool = False

    def __str__(self) -> str:
        return f"{self.n:,}{'+' if self.is_more else ''}"


class DeadGroup(Struct, frozen=True, kw_only=True):
    """Dead letters of one definition that died of the same; `job` and `error` are of the newest of them."""

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
    """A job that has failed so often and waits for its next attempt."""

    job: UUID
    line: Line
    failures: int
    max_attempts: int
    due_at: datetime | None


class Trouble(Struct, frozen=True, kw_only=True):
    """What goes wrong, as far as single jobs tell it.

    `overdue` are jobs whose lease has run out, and whom nobody has taken from their worker yet; `dead` are
    the dead letters since the moment asked for.
    """

    at: datetime
    struggling: Sequence[Struggling]
    overdue: int
    dead: Count
