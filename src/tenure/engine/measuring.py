"""Putting the pace of jobs on record, a minute at a time; done by whoever has duties."""

from datetime import timedelta

from tenure.core import pace
from tenure.storage.contract import Store

_MINUTE = timedelta(minutes=1)


async def measure(store: Store) -> bool:
    """Note how many jobs have ended and how long those of the last minute took, unless somebody has."""
    known = await store.paces(_MINUTE)
    if known.minutes and known.now - known.minutes[-1].minute < _MINUTE:
        return False
    recent = await store.recent()
    last = [end for end in recent.ends if end.at > recent.now - _MINUTE]
    return await store.note_pace(
        waits=pace.sorted_out(end.waited for end in last if end.waited is not None),
        runs=pace.sorted_out(end.ran for end in last if end.ran is not None),
    )
