"""Records the pace of jobs, minute by minute: a duty. The first minute of an hour joins those before it."""

from collections.abc import Iterable
from datetime import timedelta

from tenure.core.model.states import State
from tenure.core.reports import pace
from tenure.core.reports.pace import ALL, DefinitionPace, PaceDetail, Paces
from tenure.core.reports.reading import End, Filter
from tenure.storage.contract.store import Store

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)


async def sample_pace(store: Store) -> bool:
    """Record how many jobs ended and how long those of the minute before took, unless this minute has it.

    That minute is one by the clock, so that each job is in one minute only, whenever the sample is taken: a
    process that has just begun takes its first one in the middle of a minute.
    """
    known = await store.paces(_MINUTE)
    if known.minutes and known.now - known.minutes[-1].minute < _MINUTE:
        return False
    recent = await store.recent()
    until = recent.now.replace(second=0, microsecond=0)
    is_whole = recent.since is None or recent.since <= until - _MINUTE
    if not is_whole:  # a sample, which may lie behind that minute altogether
        until = recent.now
    last = [end for end in recent.ends if until - _MINUTE <= end.at < until]
    counts = await store.counts(Filter())
    detail = PaceDetail(
        waiting=counts[State.QUEUED].n,
        running=counts[State.RUNNING].n,
        of=_of_definitions(last, 1.0 if is_whole else _scale(known, len(last))),
        is_whole=is_whole,
    )
    return await store.note_pace(
        waits=pace.histogram(end.waited for end in last if end.waited is not None),
        runs=pace.histogram(end.ran for end in last if end.ran is not None),
        detail=detail,
        hour=await _hour_before(store, known, detail),
    )


async def _hour_before(store: Store, known: Paces, detail: PaceDetail) -> PaceDetail | None:
    """The details of the hour before, if this is the first minute of an hour to be noted."""
    now, begin = known.now, known.now.replace(minute=0, second=0, microsecond=0)
    if any(one.minute >= begin for one in known.minutes):
        return None
    noted = await store.pace_details(now - begin + _HOUR, by_hour=False)
    if any(one.minute >= begin for one in noted):
        return None
    parts = [one.detail for one in noted if one.minute > begin - _HOUR]
    # The first minute of an hour has what ended in the last one of the hour before.
    if now - begin < _MINUTE:
        parts.append(detail)
    return pace.detail_joined(parts) if parts else None


def _of_definitions(ends: Iterable[End], scale: float) -> dict[str, DefinitionPace]:
    by_name: dict[str, list[End]] = {ALL: list(ends)}
    for end in by_name[ALL]:
        by_name.setdefault(end.definition, []).append(end)
    return pace.busiest({name: _figures(own, scale) for name, own in by_name.items() if own})


def _figures(ends: list[End], scale: float) -> DefinitionPace:
    counted = {state: sum(end.state is state for end in ends) for state in State}
    return DefinitionPace(
        {state: max(1, round(n * scale)) for state, n in counted.items() if n},
        pace.histogram(end.waited for end in ends if end.waited is not None),
        pace.histogram(end.ran for end in ends if end.ran is not None),
    )


def _scale(known: Paces, sampled: int) -> float:
    """How many jobs ended in the last minute for each of the sample, by the totals of the minute before."""
    if not known.minutes or not sampled:
        return 1.0
    ended = sum(known.ended.values()) - sum(known.minutes[-1].ended.values())
    return max(1.0, ended / sampled)
