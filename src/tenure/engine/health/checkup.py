"""What is wrong with a store and with those that work on it, from bounded readings; nothing is changed."""

import asyncio
import math
from collections.abc import AsyncIterator

from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.engine.health.attention import Attention, AttentionCheck
from tenure.engine.health.repairs import Repair, repairs
from tenure.engine.health.stuck_jobs import find_stuck
from tenure.engine.health.symptoms import symptoms_of
from tenure.engine.health.webhook_troubles import stored_secrets, unsent_events
from tenure.storage.contract.store import Store

VITALS_FRESH = 30.0
"""Seconds for which one reading of the server or the file serves all callers of `light_symptoms`."""


async def examine(store: Store, *, deep: bool = False) -> Checkup:
    """Look at a store whose schema fits: its clock, workers, pauses, lines, and jobs that are stuck.

    Only the newest jobs are looked at one by one, unless `deep`.
    """
    attention = await AttentionCheck(store).look()
    stuck = await find_stuck(store, deep=deep)
    vitals = await store.vitals()
    return Checkup(
        facts=[
            Fact("store", str(await store.store_id())),
            Fact("clock", f"{round(attention.ahead.total_seconds()):+,} s from this machine's"),
            Fact("workers", f"{attention.alive} alive, {attention.silent_in_all} silent"),
            *stuck.facts,
            *vitals.facts,
        ],
        symptoms=[
            *symptoms_of(attention),
            *stuck.symptoms,
            *vitals.symptoms,
            *await unsent_events(store),
            *await stored_secrets(store),
        ],
    )


class StoreHealth:
    """The health of a store, for those that ask again and again, and what can be mended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._attention = AttentionCheck(store)
        self._looking = asyncio.Lock()
        self._vitals = Checkup()
        self._seen_at = -math.inf

    async def look(self) -> Attention:
        """What needs attention, at most two seconds old."""
        return await self._attention.look()

    def repairs(self, *, deep: bool) -> AsyncIterator[Repair]:
        """All there is to mend; see `tenure.engine.health.repairs`."""
        return repairs(self._store, deep=deep)

    async def light_symptoms(self) -> list[Symptom]:
        """What `examine` says of that and of the server or the file: no job is looked at one by one."""
        attention = await self.look()
        loop = asyncio.get_running_loop()
        async with self._looking:
            if loop.time() - self._seen_at > VITALS_FRESH:
                self._vitals = await self._store.vitals()
                self._seen_at = loop.time()
        return [*symptoms_of(attention), *self._vitals.symptoms]
