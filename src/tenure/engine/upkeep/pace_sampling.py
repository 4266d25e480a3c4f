"""Records the pace of jobs, minute by minute: a duty."""

from datetime import timedelta

from tenure.core.reports import pace
from tenure.storage.contract.store import Store

_MINUTE = timedelta(minutes=1)


async def sample_pace(store: Store) -> bool:
    """Record how many jobs ended and how long those of the last minute took, unless this minute has it."""
    recent = await store.recent()
    last = [end for end in recent.ends if end.at > recent.now - _MINUTE]
    return await store.note_pace(
        waits=pace.histogram(end.waited for end in last if end.waited is not None),
        runs=pace.histogram(end.ran for end in last if end.ran is not None),
    )
