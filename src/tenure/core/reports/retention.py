"""How long finished jobs are kept, for all definitions and for single ones, and what was removed."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.model.states import FINAL, State
from tenure.core.values.bounds import HORIZON, whole_millis, within

FOR_ALL = ""
"""The name under which the times for all definitions are stored."""

PARTS = ("succeeded", "others", "keyed", "logs")


class Retention(Struct, frozen=True, kw_only=True):
    """How long finished jobs are kept after their end; those with a key never shorter than `keyed`.

    A child whose key its worker made is kept until its parent has finished, and `keyed` does not apply to it.
    Log lines go after `logs`, or with their job if that is sooner or `logs` is None. With a time of zero they
    go as soon as a worker looks.
    """

    succeeded: timedelta = timedelta(days=7)
    others: timedelta = timedelta(days=30)
    keyed: timedelta = timedelta(days=7)
    logs: timedelta | None = None

    def __post_init__(self) -> None:
        for part in PARTS:
            check_time(part, getattr(self, part))

    @property
    def shortest(self) -> timedelta:
        """The age below which no job goes."""
        return min(self.succeeded, self.others)


class RetentionRule(Struct, frozen=True, kw_only=True):
    """What is set for one definition, or for all; a part that is None is as for all."""

    definition: str
    succeeded: timedelta | None
    others: timedelta | None
    keyed: timedelta | None
    logs: timedelta | None
    by: str
    at: datetime

    @property
    def is_own(self) -> bool:
        """Whether it says anything: a rule whose parts were all taken back does not."""
        return any(getattr(self, part) is not None for part in PARTS)


class RetentionPolicy(Struct, frozen=True):
    """All that is set: the times for all definitions, and the rules of single ones, by their keys."""

    usual: RetentionRule
    rules: Sequence[RetentionRule] = ()

    @property
    def for_all(self) -> Retention:
        """The times of definitions without a rule."""
        return _merged(self.usual, Retention())

    @property
    def own(self) -> dict[str, Retention]:
        """The times of definitions that have a rule: its parts, and for the rest those for all."""
        return {rule.definition: _merged(rule, self.for_all) for rule in self.rules}

    def of(self, definition: str) -> Retention:
        """The times of one definition."""
        return self.own.get(definition, self.for_all)


class PruneScope(Struct, frozen=True, kw_only=True):
    """Which finished jobs may be removed at all: each field narrows it. With `jobs`, only those are read."""

    jobs: Sequence[UUID] | None = None
    states: frozenset[State] = FINAL
    definition: str | None = None
    ended_before: datetime | None = None


class Pruned(Struct, frozen=True):
    """What one round of pruning did: jobs removed, and where the next round starts (None: at the start).

    `counts` are the removed jobs by definition and state.
    """

    jobs: int
    next: UUID | None
    counts: Mapping[tuple[str, State], int] = {}


class PrunedLogs(Struct, frozen=True):
    """How many log lines one round removed before their jobs, and where the next round starts."""

    lines: int
    next: UUID | None


def check_time(field: str, time: timedelta | None) -> None:
    """Refuse a time for which nothing can be kept: negative, more than ten years, finer than milliseconds."""
    if time is not None:
        within(field, time, timedelta(0), HORIZON)
        whole_millis(field, time)


def _merged(rule: RetentionRule, rest: Retention) -> Retention:
    given = {part: getattr(rule, part) for part in PARTS}
    return Retention(
        **{part: getattr(rest, part) if value is None else value for part, value in given.items()}
    )
