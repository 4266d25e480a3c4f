"""Wall clocks of time zones: which moments show a time of day, where clocks skip an hour or repeat it."""

from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from tenure.core.errors import InvalidInput

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo


_NO_PLACES = frozenset({"localtime", "Factory"})
"""Names among those of zones that mean whatever a machine is set to, which differs from node to node."""


@lru_cache(1024)  # the names are files in folders, which are all read
def zone_named(name: str) -> "ZoneInfo":
    """The time zone of an IANA name. Raises InvalidInput if there is none of that name."""
    # Not at the top: most programs that load this module never ask for a zone.
    from zoneinfo import ZoneInfo, available_timezones

    problem, example = f"{name!r:.80} is not a time zone", "give a name such as Europe/Berlin or UTC"
    if name in _NO_PLACES:
        raise InvalidInput("timezone", f"{name!r} differs from machine to machine", example)
    if not name.isprintable() or len(name) > 255:
        raise InvalidInput("timezone", problem, example)
    zones = available_timezones() - _NO_PLACES
    try:
        if name in zones:
            return ZoneInfo(name)
    except (OSError, ValueError):
        pass  # a damaged or unreadable file of time zones
    near = _nearest(name, zones)
    raise InvalidInput("timezone", problem, f"did you mean {near}?" if near else example)


def _nearest(name: str, zones: AbstractSet[str]) -> str | None:
    """The zone that was probably meant: of the same city, or of a name that is nearly the same."""
    from difflib import get_close_matches

    city = name.rpartition("/")[2].replace(" ", "_").casefold()
    same = [zone for zone in zones if zone.rpartition("/")[2].casefold() == city]
    near = same or get_close_matches(name, zones, n=1, cutoff=0.8)
    return min(near, key=len, default=None)


def moments(day: date, at: time, zone: "ZoneInfo") -> list[datetime]:
    """The moments at which clocks show this time: two where it is repeated, none where it is skipped."""
    wall = datetime.combine(day, at, tzinfo=zone)
    both = [wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]
    return [one for one in dict.fromkeys(both) if shown(one, zone) == wall.replace(tzinfo=None)]


def after_gap(day: date, at: time, zone: "ZoneInfo") -> datetime:
    """For a time that clocks skip: the moment at which they do."""
    wall = datetime.combine(day, at, tzinfo=zone)
    # By the offset before the gap the moment lies after it, by the one after the gap before it.
    late, early = (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    offset = early.astimezone(zone).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + (late - early) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late.replace(microsecond=0)


def shown(moment: datetime, zone: "ZoneInfo") -> datetime:
    """What clocks of the zone show, without its zone."""
    return moment.astimezone(zone).replace(tzinfo=None)
