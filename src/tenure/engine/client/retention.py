"""How long finished jobs are kept: reads it and changes it, for all definitions or for one."""

import asyncio
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import NamedTuple

from msgspec import structs

from tenure.core.errors import UnknownDefinition
from tenure.core.reports.retention import (
    FOR_ALL,
    PARTS,
    Retention,
    RetentionPolicy,
    RetentionRule,
)
from tenure.engine.client.retention_walk import Removed, RetentionWalk
from tenure.storage.contract.store import Store

Change = Mapping[str, timedelta | None]
"""Times by the names in `PARTS`. None means as for all; for the log lines of all, as long as their job."""

USUAL: Change = {part: getattr(Retention(), part) for part in PARTS}
"""The times for all definitions that a new database has."""


class Foreseen(NamedTuple):
    """What a walk would remove; unless `is_whole`, so much at least."""

    removed: Removed
    is_whole: bool


class RetentionSettings:
    """Reads and sets how long finished jobs are kept. Workers go by it from their next step on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self) -> RetentionPolicy:
        """All that is set."""
        return await self._store.retention()

    async def set(self, definition: str, change: Change, *, by: str) -> RetentionPolicy:
        """Set some parts, for one definition or `FOR_ALL`; returns all that is set then.

        Raises UnknownDefinition: a rule under a misspelt name would keep nothing and say nothing.
        """
        await self.check_definition(definition)
        await self._store.set_retention(definition, change, by=by)
        return await self._store.retention()

    async def reset(self, definition: str, parts: Collection[str], *, by: str) -> RetentionPolicy:
        """Set parts back: for a definition to those for all, and for all to those of a new database."""
        back: Change = {part: USUAL[part] if definition == FOR_ALL else None for part in parts}
        return await self.set(definition, back, by=by)

    async def proposed(self, definition: str, change: Change) -> RetentionPolicy:
        """What would be set after a change; nothing is changed."""
        await self.check_definition(definition)
        policy = await self._store.retention()
        if definition == FOR_ALL:
            return structs.replace(policy, usual=structs.replace(policy.usual, **change))
        rules = {rule.definition: rule for rule in policy.rules}
        empty = dict.fromkeys(PARTS)
        before = rules.get(definition) or RetentionRule(
            definition=definition, by="", at=policy.usual.at, **empty
        )
        rules[definition] = structs.replace(before, **change)
        return structs.replace(policy, rules=tuple(rules.values()))

    async def walk(
        self, definition: str = FOR_ALL, *, dry: bool = False, policy: RetentionPolicy | None = None
    ) -> Removed:
        """Remove what is kept no longer, once through all jobs, as workers do every day; or only count it.

        `policy` is to be gone by instead of what is set. Raises UnknownDefinition.
        """
        await self.check_definition(definition)
        pruning = RetentionWalk(self._store, definition=definition or None, dry=dry, policy=policy)
        return await pruning.walk()

    async def foresee(self, definition: str, change: Change, *, within: float) -> Foreseen:
        """Count what the next walk would remove after a change; stops when so many seconds are over."""
        policy = await self.proposed(definition, change)
        walk = RetentionWalk(self._store, definition=definition or None, dry=True, policy=policy)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while not (is_whole := await walk.step(by_age=False)) and loop.time() < deadline:
            pass
        return Foreseen(walk.removed, is_whole)

    async def check_definition(self, definition: str) -> None:
        """Refuse a definition that nobody has registered."""
        if definition != FOR_ALL and all(one.key != definition for one in await self._store.definitions()):
            raise UnknownDefinition(definition)
