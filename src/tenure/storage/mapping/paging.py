"""How a page of jobs is found: by which table, between which ids, and where the next page begins.

Jobs are listed by id. The way there depends on the filter, so that a page never costs more than its budget of
rows: by tag, by fingerprint or by the signal waited for if one is given; by state if small tables hold all
jobs in those states; by namespace if it is not the default one, so that a tenant finds its jobs however many
others have; by line if few lines match; else through all jobs by id.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.model.states import OWNED, TIMERS, State
from tenure.core.reports.reading import Filter
from tenure.core.values.bounds import LARGEST_NUMBER, LARGEST_PAGE, whole

BUDGET = 1_000
"""How many rows are read for one page."""

FEW_QUEUED = 2_000
"""Up to so many queued jobs are read one by one; lines are not sorted by id."""

FEW_LINES = 20
"""Up to so many lines are read side by side."""

LAST = UUID(int=2**128 - 1)
"""The last possible id."""

_ALL = 2**31 - 1
_SLACK = timedelta(days=1)
_ENDED = frozenset({State.FAILED, State.CANCELLED, State.BURIED})


class Way(Struct, frozen=True):
    """How to find jobs: exactly one of the ways by tag, fingerprint, signal, state, namespace, line or id."""

    by_tag: bool = False
    by_fingerprint: bool = False
    by_signal: bool = False
    by_namespace: bool = False
    by_line: bool = False
    by_id: bool = False
    kinds: tuple[str, ...] = ()
    ended: tuple[State, ...] = ()
    owned: bool = False
    queued: bool = False

    @property
    def aside(self) -> bool:
        """Whether jobs that were put aside have to be looked for as well: they stand elsewhere."""
        return bool(self.kinds) or self.owned or self.queued


def way(which: Filter, *, lines: int | None, queued: int) -> Way:
    """The way for a filter that matches so many `lines` (None: all), in which so many jobs are `queued`."""
    if which.tag is not None:
        return Way(by_tag=True)
    if which.fingerprint is not None:
        return Way(by_fingerprint=True)
    if which.waiting_for is not None:
        return Way(by_signal=True)
    small = which.states and State.SUCCEEDED not in which.states
    if small and (State.QUEUED not in which.states or queued <= FEW_QUEUED):
        return Way(
            kinds=tuple(kind for state, kinds in TIMERS.items() if state in which.states for kind in kinds),
            ended=tuple(sorted(which.states & _ENDED)),
            owned=bool(which.states & OWNED),
            queued=State.QUEUED in which.states,
        )
    if which.namespace not in {None, USUAL_NAMESPACE}:
        return Way(by_namespace=True)
    if lines is not None and lines <= FEW_LINES:
        return Way(by_line=True)
    return Way(by_id=True)


def bounds(which: Filter, after: UUID | None, *, newest_first: bool, limit: int) -> tuple[UUID, UUID]:
    """The first and the last id to read. Times narrow them only roughly and are compared again."""
    whole("limit", limit, 1, LARGEST_PAGE)
    low, high = 0, LAST.int
    if which.created_after is not None:
        low = _first_id_at(which.created_after - _SLACK)
    if which.created_before is not None:
        high = _first_id_at(which.created_before + _SLACK)
    if after is not None and newest_first:
        high = min(high, after.int - 1)
    elif after is not None:
        low = max(low, after.int + 1)
    return (UUID(int=low), UUID(int=high)) if 0 <= low <= high < 2**128 else (UUID(int=1), UUID(int=0))


def last_of_age(youngest: datetime) -> UUID:
    """The last id whose job can have ended at this time or before."""
    return UUID(int=min(_first_id_at(youngest + _SLACK), LAST.int))


def part(after: int, limit: int | None) -> dict[str, int]:
    """Part of the rows of one job: behind which number, and at most how many."""
    whole("after", after, 0, LARGEST_NUMBER)
    whole("limit", most := _ALL if limit is None else limit, 1, _ALL)
    return {"after": after, "limit": most}


def chosen(
    looked_at: Sequence[tuple[UUID, bool, str | None]], limit: int, budget: int = BUDGET
) -> tuple[list[UUID], UUID | None]:
    """Of the jobs read, those for the page, and the id behind which the next page begins."""
    jobs: list[UUID] = []
    for seen, (job, matches, _) in enumerate(looked_at, 1):
        if matches:
            jobs.append(job)
        if len(jobs) == limit:
            is_last = seen == len(looked_at) < budget
            return jobs, None if is_last else job
    return jobs, looked_at[-1][0] if len(looked_at) >= budget else None


def _first_id_at(moment: datetime) -> int:
    return max(0, int(moment.timestamp() * 1000)) << 80
