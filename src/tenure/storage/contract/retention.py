"""How long finished jobs are kept, and their removal; part of the storage contract."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from tenure.core.reports.retention import Pruned, PrunedLogs, PruneScope, Retention, RetentionPolicy

NO_RULES: Mapping[str, Retention] = {}
ALL_FINISHED = PruneScope()


class RetentionStore(Protocol):
    """The verbs about how long finished jobs are kept. Only they delete."""

    async def retention(self) -> RetentionPolicy:
        """What is set now, as last committed. Raises StoreError if that makes no sense: nothing goes then."""

    async def set_retention(
        self, definition: str, change: Mapping[str, timedelta | None], *, by: str = "api"
    ) -> None:
        """Set parts of how long jobs of a definition, or with `FOR_ALL` of all, are kept; other parts stay.

        A part of a definition that is None is as for all; `logs` for all that is None is as long as the job.
        """

    async def prune(
        self,
        retention: Retention,
        *,
        own: Mapping[str, Retention] = NO_RULES,
        scope: PruneScope = ALL_FINISHED,
        after: UUID | None = None,
        limit: int = 1000,
        by_age: bool = False,
        dry: bool = False,
    ) -> Pruned:
        """Remove finished jobs whose retention is over, with all their rows: the only verb that deletes jobs.

        `own` are the times of single definitions, by key. Reads up to `limit` jobs by id from behind `after`
        on, or those of the scope; the answer says where to go on. With `by_age` it stops where jobs are too
        young by the time in their ids, with a day of tolerance: jobs to be kept are not read, and neither are
        jobs whose caller chose an id with another time. Locked jobs are left for a later round. So are
        children in the scope of `CHILDREN` whose parent has not finished, and, for a week beyond their time,
        jobs with events that webhooks were not told yet; a cursor that nobody has taken for a day holds back
        nothing. With `dry`, jobs are only counted.
        """

    async def prune_logs(
        self,
        retention: Retention,
        *,
        own: Mapping[str, Retention] = NO_RULES,
        definition: str | None = None,
        after: UUID | None = None,
        limit: int = 1000,
        by_age: bool = False,
        dry: bool = False,
    ) -> PrunedLogs:
        """Remove log lines of finished jobs that go before their jobs, as `logs` says; the jobs stay.

        Reads up to `limit` jobs that have log lines, otherwise as `prune` does: others cost nothing.
        """
