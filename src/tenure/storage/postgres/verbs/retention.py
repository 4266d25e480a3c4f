"""The verbs of the PostgreSQL store about how long finished jobs are kept."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from tenure.core.reports.retention import Pruned, PrunedLogs, PruneScope, Retention, RetentionPolicy
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.core.values.text import storable
from tenure.storage.contract.retention import ALL_FINISHED, NO_RULES
from tenure.storage.mapping import paging, values
from tenure.storage.mapping import retention as mapping
from tenure.storage.postgres.database import Database


class RetentionVerbs(Database):
    """Sets how long jobs are kept, and removes those whose time is over."""

    async def retention(self) -> RetentionPolicy:
        return mapping.policy_from(await self._pool.run("retention"))

    async def set_retention(
        self, definition: str, change: Mapping[str, timedelta | None], *, by: str = "api"
    ) -> None:
        times = mapping.changed(definition, change)
        await self._pool.run(
            "set_retention", definition=definition, parts=list(change), by=storable(by), **times
        )

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
        whole("limit", limit, 1, LARGEST_BATCH)
        [row] = await self._pool.run(
            "prune",
            jobs=None if scope.jobs is None else sorted(set(scope.jobs)),
            states=sorted(scope.states),
            definition=scope.definition,
            ended_before=values.aware("ended_before", scope.ended_before),
            first=values.following(after),
            last=await self._last_of(mapping.shortest(retention, own) if by_age else None),
            limit=limit,
            succeeded=retention.succeeded,
            others=retention.others,
            keyed=retention.keyed,
            own_of=list(own),
            own_succeeded=[one.succeeded for one in own.values()],
            own_others=[one.others for one in own.values()],
            own_keyed=[one.keyed for one in own.values()],
            dry=dry,
        )
        return mapping.pruned_from(row)

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
        whole("limit", limit, 1, LARGEST_BATCH)
        [row] = await self._pool.run(
            "prune_logs",
            definition=definition,
            first=values.following(after),
            last=await self._last_of(mapping.shortest_logs(retention, own) if by_age else None),
            limit=limit,
            logs=retention.logs,
            own_of=list(own),
            own_logs=[one.logs for one in own.values()],
            dry=dry,
        )
        return PrunedLogs(row["lines"], row["next"])

    async def _last_of(self, age: timedelta | None) -> UUID:
        """The last id whose job can be of this age; without one, the last that there is."""
        return paging.LAST if age is None else paging.last_of_age(await self.now() - age)
