"""The verbs of the SQLite store about how long finished jobs are kept."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import msgspec

from tenure.core.reports.retention import Pruned, PrunedLogs, PruneScope, Retention, RetentionPolicy
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.core.values.text import storable
from tenure.storage.contract.retention import ALL_FINISHED, NO_RULES
from tenure.storage.mapping import paging, values
from tenure.storage.mapping import retention as mapping
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.database import Database


class RetentionVerbs(Database):
    """Sets how long jobs are kept, and removes those whose time is over."""

    async def retention(self) -> RetentionPolicy:
        return mapping.policy_from(await self._read("retention", lambda row: row))

    async def set_retention(
        self, definition: str, change: Mapping[str, timedelta | None], *, by: str = "api"
    ) -> None:
        times = mapping.changed(definition, change)
        parts = msgspec.json.encode(list(change)).decode()
        await self._write("set_retention", definition=definition, parts=parts, by=storable(by), **times)

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
        ended_before = values.aware("ended_before", scope.ended_before)
        [row] = await self._run(
            "prune",
            [
                (definition, *map(rows.duration, (one.succeeded, one.others, one.keyed)))
                for definition, one in own.items()
            ],
            jobs=None if scope.jobs is None else msgspec.json.encode(sorted(set(scope.jobs))).decode(),
            states=msgspec.json.encode(sorted(scope.states)).decode(),
            definition=scope.definition,
            ended_before=None if ended_before is None else rows.micros(ended_before),
            last=str(await self._last_of(mapping.shortest(retention, own) if by_age else None)),
            after="" if after is None else str(after),
            limit=limit,
            succeeded=rows.duration(retention.succeeded),
            others=rows.duration(retention.others),
            keyed=rows.duration(retention.keyed),
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
        [row] = await self._run(
            "prune_logs",
            [(definition_, rows.duration(one.logs)) for definition_, one in own.items()],
            definition=definition,
            last=str(await self._last_of(mapping.shortest_logs(retention, own) if by_age else None)),
            after="" if after is None else str(after),
            limit=limit,
            logs=rows.duration(retention.logs),
            dry=dry,
        )
        return PrunedLogs(row["lines"], row["next"])

    async def _last_of(self, age: timedelta | None) -> UUID:
        """The last id whose job can be of this age; without one, the last that there is."""
        return paging.LAST if age is None else paging.last_of_age(await self.now() - age)
