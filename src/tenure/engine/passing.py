"""What passes through the queues, looked at once for all who ask within a moment."""

import asyncio
import math

from tenure.core.flow import Flows
from tenure.storage.overview import OverviewStore

FRESH = 2.0
"""Seconds for which one look answers everybody."""


class Passing:
    """Looks at what passes through the queues, at most once in a while."""

    def __init__(self, store: OverviewStore) -> None:
        self._store = store
        self._looking = asyncio.Lock()
        self._seen: Flows | None = None
        self._seen_at = -math.inf

    async def look(self) -> Flows:
        """What passed lately, as it was two seconds ago at most."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            if self._seen is None or loop.time() - self._seen_at > FRESH:
                self._seen = await self._store.flows()
                self._seen_at = loop.time()
            return self._seen
