"""What is known of each schedule: its row, its ticks, what was asked of it, and the ticks it should have.

A schedule that was deleted and made again is another one, of which only the last is judged: ticks go with
their schedule.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import zip_longest

from msgspec.structs import replace

from chaos.evidence import Evidence
from chaos.schedules.calls import ScheduleCall
from chaos.schedules.rules import ticks_between
from tenure.core.schedule.schedule import Schedule, ScheduleName, Source, Tick, TickOutcome

MADE = frozenset({TickOutcome.FIRED, TickOutcome.BY_HAND})
"""The outcomes that make a job."""


@dataclass(frozen=True)
class Span:
    """A time in which one rule held: the first of its ticks, and all that it should have put on record."""

    schedule: Schedule
    start: datetime
    ticks: list[datetime]


@dataclass
class ScheduleLife:
    """One schedule. `row` is None when it is gone."""

    name: ScheduleName
    row: Schedule | None = None
    ticks: list[Tick] = field(default_factory=list)
    """By time."""
    calls: list[ScheduleCall] = field(default_factory=list)
    """Those that were acknowledged, by when they were answered."""

    @property
    def own_ticks(self) -> list[Tick]:
        """The ticks of its rule, not those of runs by hand."""
        return [tick for tick in self.ticks if tick.outcome is not TickOutcome.BY_HAND]

    @property
    def fired(self) -> list[Tick]:
        """The ticks that fired."""
        return [tick for tick in self.ticks if tick.outcome is TickOutcome.FIRED]

    @cached_property
    def own_calls(self) -> list[ScheduleCall]:
        """The calls that were answered with this very schedule, not with one of the same name before it."""
        if self.row is None:
            return []
        made = self.row.created_at
        return [call for call in self.calls if call.schedule and call.schedule.created_at == made]

    @cached_property
    def editions(self) -> list[ScheduleCall]:
        """The calls that gave it its rules, the first of which made it; none where that is not known."""
        found = [call for call in self.own_calls if call.verb in {"create", "edit"}] or self._unasked()
        found.sort(key=lambda call: call.schedule.revision if call.schedule else 0)
        revisions = [call.schedule.revision for call in found if call.schedule]
        is_whole = self.row is not None and revisions == list(range(1, self.row.revision + 1))
        return found if is_whole else []

    def _unasked(self) -> list[ScheduleCall]:
        """Of a schedule that code has made and nobody has changed: as if it had been asked for."""
        row, first = self.row, next(iter(self.own_ticks), None)
        if row is None or first is None or row.asked.source is not Source.CODE:
            return []
        made = replace(row, next_at=first.at, remaining=row.asked.remaining)
        return [ScheduleCall(verb="create", name=self.name, sent_at=0.0, answered_at=0.0, schedule=made)]

    @cached_property
    def spans(self) -> list[Span]:
        """The times of its rules, in order."""
        found = []
        for call, next_ in zip_longest(self.editions, self.editions[1:]):
            schedule = call.schedule
            if schedule is None or schedule.next_at is None:
                continue
            ticks = [
                tick for tick in self._chain(schedule, schedule.next_at, next_) if self._was_due(tick, next_)
            ]
            found.append(Span(schedule, schedule.next_at, _within_runs(ticks, schedule, self.fired)))
        return found

    def _chain(self, schedule: Schedule, start: datetime, next_: ScheduleCall | None) -> Iterator[datetime]:
        """The tick that it waited for, which an earlier rule may have put there, and those that follow."""
        yield start
        assert self.row is not None  # noqa: S101
        known = [tick.until or tick.at for tick in self.own_ticks]
        last = max([start, *known, *([self.row.next_at] if self.row.next_at else [])])
        if next_ is not None and next_.schedule is not None:
            last = max(start, next_.schedule.updated_at)
        for tick in ticks_between(schedule.asked.recurrence, start, last):
            if tick > start:
                yield tick

    def _was_due(self, tick: datetime, next_: ScheduleCall | None) -> bool:
        """Whether a tick came before the rule ended, so that something must have become of it."""
        row = self.row if next_ is None else next_.schedule
        assert row is not None  # noqa: S101
        if next_ is None:
            return row.next_at is None or tick < row.next_at
        if row.paused_at is not None and tick > row.updated_at - next_.took and not self._is_on_record(tick):
            # An edit in a pause notes what had passed when it began, and that may be any moment of the call.
            return False
        return tick <= row.updated_at and (row.next_at is None or tick < row.next_at)

    def _is_on_record(self, moment: datetime) -> bool:
        return any(tick.at <= moment <= (tick.until or tick.at) for tick in self.own_ticks)


def _within_runs(ticks: list[datetime], schedule: Schedule, fired: Sequence[Tick]) -> list[datetime]:
    """Without those that come after the last run that was allowed."""
    if schedule.remaining is None or schedule.next_at is None:
        return ticks
    here = [tick.at for tick in fired if tick.at >= schedule.next_at]
    if len(here) < schedule.remaining:
        return ticks
    return [tick for tick in ticks if tick <= here[schedule.remaining - 1]] if schedule.remaining else []


def schedule_lives(evidence: Evidence) -> dict[ScheduleName, ScheduleLife]:
    """All that is known, by schedule."""
    lives: dict[ScheduleName, ScheduleLife] = {}
    for schedule in evidence.schedules:
        lives[schedule.name] = ScheduleLife(schedule.name, schedule)
    ticks = defaultdict(list)
    for one in evidence.ticks:
        ticks[one.name].append(one.tick)
    for name, of_schedule in ticks.items():
        life = lives.setdefault(name, ScheduleLife(name))
        life.ticks = sorted(of_schedule, key=lambda tick: tick.at)
    for call in sorted(evidence.schedule_calls, key=lambda call: call.answered_at):
        if call.outcome == "acknowledged":
            lives.setdefault(call.name, ScheduleLife(call.name)).calls.append(call)
    return lives
