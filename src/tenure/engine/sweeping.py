"""One thing done to all jobs that a filter means, a bounded number of them at a time.

A sweep goes from the newest job to the oldest, page by page, and each page is one transaction. Jobs that are
recorded meanwhile stand before where it began: it comes to an end, and meets no job twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.bounds import LARGEST_PAGE, printable, whole
from tenure.core.errors import NoRoom
from tenure.core.reading import Filter, Listed
from tenure.core.states import DEAD_LETTERS, UNFINISHED, State
from tenure.engine.quota import Quota
from tenure.storage.contract import Store

LARGEST_SWEEP = 1_000
"""How many jobs one call may do something to."""

MOST_PAGES = 20
"""How many pages one call looks at; a page may be empty, and still not be the last."""

Act = Callable[[Sequence[Listed]], Awaitable[int]]
"""Does it to the jobs of a page, in one transaction; answers how many it changed."""


class Swept(Struct, frozen=True):
    """How many jobs were met and how many changed, and behind which job to go on; None when all are done."""

    matched: int
    changed: int
    next: UUID | None


class Sweeps:
    """What can be done to many jobs. With `dry` nothing is done, and the jobs are only counted."""

    def __init__(self, store: Store, quota: Quota) -> None:
        self._store = store
        self._quota = quota

    async def cancel(
        self,
        which: Filter,
        *,
        after: UUID | None = None,
        limit: int = LARGEST_SWEEP,
        dry: bool = False,
        actor: str = "api",
        reason: str | None = None,
    ) -> Swept:
        """Ask jobs that have not ended to stop; one that has moved on to a state not meant is left alone."""
        states = which.states or UNFINISHED

        async def act(jobs: Sequence[Listed]) -> int:
            ids = [job.id for job in jobs]
            standings = await self._store.cancel(ids, actor=actor, reason=reason, states=states)
            return sum(standing.moved for standing in standings)

        return await self._sweep(replace(which, states=states), None if dry else act, after, limit)

    async def replay(
        self,
        which: Filter,
        *,
        after: UUID | None = None,
        limit: int = LARGEST_SWEEP,
        dry: bool = False,
        key: str | None = None,
    ) -> Swept:
        """Run dead letters again, or what the filter names; under one key no job twice.

        It goes as far as there is room for them. Raises NoRoom when there is none at all.
        """
        if key is not None:
            printable("key", key, least=1)
        states = which.states or DEAD_LETTERS

        async def act(jobs: Sequence[Listed]) -> int:
            refusal = await self._quota.refusal(jobs)
            answers = await self._store.replay([job.id for job in jobs], key=key, make=refusal is None)
            if refusal is not None and any(answer.is_left for answer in answers):
                raise refusal
            made = [(job, State.QUEUED) for job, answer in zip(jobs, answers, strict=True) if answer.fresh]
            self._quota.count(made)
            return len(made)

        return await self._sweep(replace(which, states=states), None if dry else act, after, limit)

    async def _sweep(self, which: Filter, act: Act | None, after: UUID | None, limit: int) -> Swept:
        whole("limit", limit, 1, LARGEST_SWEEP)
        matched = changed = 0
        for _ in range(MOST_PAGES):
            page = await self._store.page(which, after=after, limit=min(LARGEST_PAGE, limit - matched))
            try:
                changed += await act(page.jobs) if page.jobs and act is not None else 0
            except NoRoom:
                if not matched:
                    raise
                break  # the next call begins with this page
            matched += len(page.jobs)
            after = page.next
            if after is None or matched >= limit:
                break
        return Swept(matched, changed, after)
