"""Names of schedules in cursors, and how refusals about schedules are answered; for pages as well."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from struct import pack

from tenure.core.errors import InvalidInput, NoRoom
from tenure.core.schedule.schedule import ScheduleName, TickPlace
from tenure.core.values.bounds import named
from tenure.engine.schedules.schedules import (
    ScheduleChanged,
    ScheduleInCode,
    ScheduleNotFound,
    ScheduleOfTask,
    ScheduleTaken,
    ScheduleUnreadable,
)
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.intent import no_room

_SEPARATOR = "\n"  # no name contains it
_TICK = ">q"
"""Where a page of ticks ends: the microsecond, doubled, and one more for a run by hand."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def place_of(name: ScheduleName) -> bytes:
    """A schedule's place in a list, for a cursor."""
    return _SEPARATOR.join(name).encode()


def place_in(cursor: str, list_id: bytes) -> ScheduleName:
    """The schedule after which a list continues. Raises Refusal as `cursors.read` does."""
    namespace, _, name = cursors.read(cursor, list_id).decode(errors="replace").partition(_SEPARATOR)
    try:
        named("namespace", namespace)
        named("id", name)
    except InvalidInput:
        raise Refusal("invalid-cursor", "start again without a cursor") from None
    return ScheduleName(namespace, name)


def tick_cursor(place: TickPlace, list_id: bytes) -> str:
    """The cursor of a list of ticks that goes on before a place."""
    return cursors.write(pack(_TICK, (place.at - _EPOCH) // _MICROSECOND * 2 + place.is_by_hand), list_id)


def tick_before(cursor: str, list_id: bytes) -> TickPlace:
    """The place before which a list of ticks goes on. Raises Refusal as `cursors.read` does."""
    [number] = cursors.read_numbers(cursor, list_id, _TICK)
    micros, is_by_hand = divmod(number, 2)
    try:
        return TickPlace(_EPOCH + micros * _MICROSECOND, bool(is_by_hand))
    except OverflowError:
        raise Refusal("invalid-cursor", "start again without a cursor") from None


@asynccontextmanager
async def refusals() -> AsyncIterator[None]:
    """Answer what the engine refuses as the problem that it is."""
    try:
        yield
    except ScheduleNotFound as error:
        raise Refusal("not-found", str(error)) from None
    except ScheduleTaken as error:
        raise Refusal("schedule-exists", str(error)) from None
    except ScheduleInCode as error:
        raise Refusal("schedule-in-code", str(error)) from None
    except ScheduleOfTask as error:
        raise Refusal("schedule-of-task", str(error)) from None
    except ScheduleUnreadable as error:
        raise Refusal("schedule-unreadable", str(error)) from None
    except ScheduleChanged as error:
        raise Refusal("revision-mismatch", str(error)) from None
    except NoRoom:
        raise no_room() from None
