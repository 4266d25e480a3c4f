"""Which of the ticks that are due fire, and which are noted as missed."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from tenure.core.schedule.recurrence import Recurrence

MOST_AT_ONCE = 100
"""How many missed ticks fire at once, at most; older ones are noted."""

MOST_COUNTED = 1_000
"""How far missed ticks are counted: so many are told as that or more."""

GRACE = timedelta(seconds=60)
"""How late the last tick may fire and not count as missed; half the gap to the next one, if that is less."""

_INSTANT = timedelta(microseconds=1)


class Missed(StrEnum):
    """What to do about ticks at which nothing could fire: none of them, the last one, or all."""

    SKIP = "skip"
    ONE = "one"
    ALL = "all"


class Gap(Struct, frozen=True):
    """Ticks that are missed: the first, the last, and how many, counted to a bound."""

    first: datetime
    last: datetime
    count: int


class Due(Struct, frozen=True):
    """What to do now: the ticks that fire, in order, the gap before them, and the tick to wait for next."""

    fires: tuple[datetime, ...]
    gap: Gap | None
    next_at: datetime | None


def due(recurrence: Recurrence, expected: datetime, now: datetime, missed: Missed) -> Due:
    """Judge the ticks from the `expected` one up to now; there is at least that one.

    A tick is missed if a later one is due as well, or if it is older than its grace.
    """
    before = expected - _INSTANT
    most = MOST_AT_ONCE if missed is Missed.ALL else 1
    latest = recurrence.latest(most, after=before, until=now)
    # An edit may have left a tick that the present rule does not have: it is due all the same.
    if len(latest) < most and expected not in latest:
        latest = [expected, *latest]
    following = recurrence.next_after(latest[-1])
    fires = tuple(latest)
    if missed is Missed.SKIP and _is_late(latest[-1], following, now):
        fires = ()
    skipped_until = fires[0] if fires else latest[-1] + _INSTANT
    return Due(fires, _gap(recurrence, expected, skipped_until), following)


def gap_until(recurrence: Recurrence, first: datetime, until: datetime) -> Gap | None:
    """The ticks from the first one up to a moment, as missed ones."""
    return _gap(recurrence, first, until + _INSTANT)


def _is_late(tick: datetime, following: datetime | None, now: datetime) -> bool:
    grace = GRACE if following is None else min(GRACE, (following - tick) / 2)
    return now - tick > grace


def _gap(recurrence: Recurrence, first: datetime, before: datetime) -> Gap | None:
    if first >= before:
        return None
    last = recurrence.latest(1, after=first, until=before - _INSTANT)
    counted = 1 + recurrence.count(MOST_COUNTED - 1, after=first, before=before)
    return Gap(first, last[-1] if last else first, counted)
