"""Changes all jobs that match a filter, a bounded number per call.

It goes from the newest job to the oldest, page by page, and each page is one transaction. Jobs that are
enqueued meanwhile come before its start: so it ends, and sees no job twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import InvalidInput, NoRoom
from tenure.core.model.states import DEAD_LETTERS, UNFINISHED, State
from tenure.core.reports.reading import Filter, Listed
from tenure.core.reports.retention import PruneScope, Retention
from tenure.core.values.bounds import LARGEST_PAGE, LARGEST_SWEEP, printable, whole
from tenure.engine.client.quota import Quota
from tenure.storage.contract.store import Store

MOST_PAGES = 20
"""How many pages one call reads; a page may be empty without being the last."""

Act = Callable[[Sequence[Listed]], Awaitable[int]]
"""Changes the jobs of a page, in one transaction; returns how many it changed."""


class BulkResult(Struct, frozen=True):
    """How many jobs matched and how many changed, and the job after which to go on; None if all are done."""

    matched: int
    changed: int
    next: UUID | None


class BulkChanges:
    """Cancels, replays or purges many jobs. With `dry`, jobs are only counted."""

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
    ) -> BulkResult:
        """Ask unfinished jobs to stop; one that has left the filter's states meanwhile is left alone."""
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
    ) -> BulkResult:
        """Run dead letters again, or the states that the filter names; with one key, no job twice.

        It goes as far as there is room. Raises NoRoom if there is none at all.
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

    async def purge(
        self,
        which: Filter,
        *,
        ended_before: datetime,
        keyed: bool = False,
        after: UUID | None = None,
        limit: int = LARGEST_SWEEP,
        dry: bool = False,
    ) -> BulkResult:
        """Delete dead letters that ended before a time, without waiting for their retention to be over.

        One with a key stays for as long as its key counts, unless `keyed`: a repeated request would otherwise
        make the job anew. One that the next attempt of its parent would ask for stays in any case.
        """
        whole("limit", limit, 1, LARGEST_SWEEP)
        states = which.states or DEAD_LETTERS
        if not states <= DEAD_LETTERS:
            raise InvalidInput("states", "are not of dead letters", "give failed, buried or both")
        policy = await self._store.retention()
        matched = looked_at = 0
        for _ in range(MOST_PAGES):
            page = await self._store.page(
                replace(which, states=states), after=after, limit=min(LARGEST_PAGE, limit - looked_at)
            )
            pruned = await self._store.prune(
                _at_once(policy.for_all, keyed=keyed),
                own={key: _at_once(one, keyed=keyed) for key, one in policy.own.items()},
                scope=PruneScope(
                    jobs=[job.id for job in page.jobs], states=states, ended_before=ended_before
                ),
                dry=dry,
            )
            matched += pruned.jobs
            looked_at += len(page.jobs)
            after = page.next
            if after is None or looked_at >= limit:
                break
        return BulkResult(matched, 0 if dry else matched, after)

    async def _sweep(self, which: Filter, act: Act | None, after: UUID | None, limit: int) -> BulkResult:
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
        return BulkResult(matched, changed, after)


def _at_once(kept: Retention, *, keyed: bool) -> Retention:
    """A retention by which jobs may go at once, but for those that are kept for their key."""
    none = timedelta(0)
    return Retention(succeeded=none, others=none, keyed=none if keyed else kept.keyed)
