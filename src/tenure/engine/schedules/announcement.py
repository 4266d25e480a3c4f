"""Schedules that an app's code declares: recorded when a worker starts."""

from collections.abc import Iterable

import msgspec

from tenure.core.schedule.schedule import NewSchedule
from tenure.engine.schedules.schedules import Schedules

_decode = msgspec.msgpack.Decoder(NewSchedule).decode


async def announce_all(schedules: Schedules, declared: Iterable[bytes], *, by: str) -> list[str]:
    """Record what is new or has changed; returns what is to be told, each in a sentence."""
    answers = [await schedules.announce(_decode(one), by=by) for one in declared]
    return [answer for answer in answers if answer is not None]
