"""What was asked about schedules and what was answered, and ticks with the schedule that each belongs to."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from chaos.history import Outcome
from tenure.core.schedule.schedule import Schedule, ScheduleName, Tick

Verb = Literal["create", "edit", "pause", "resume", "trigger", "delete"]


class ScheduleCall(Struct, frozen=True, kw_only=True):
    """One request. Times are CLOCK_MONOTONIC; the answer is `schedule`, or the `job` of a run by hand."""

    verb: Verb
    name: ScheduleName
    sent_at: float
    answered_at: float
    outcome: Outcome = "acknowledged"
    schedule: Schedule | None = None
    recounts: bool = False
    """Whether an edit gives the number of runs anew."""
    job: UUID | None = None

    @property
    def took(self) -> timedelta:
        """How long it took until it was answered."""
        return timedelta(seconds=self.answered_at - self.sent_at)


class TickOf(Struct, frozen=True):
    """A tick on record, and whose it is."""

    name: ScheduleName
    tick: Tick
