"""Flow rates of the queues, cached for two seconds."""

import asyncio
import math

from tenure.core.reports.flow import Flows
from tenure.storage.contract.overview import OverviewStore

FRESH = 2.0
"""Seconds for which one reading serves all callers."""


class FlowCache:
    """Reads the flow rates of the queues, one caller for all."""

    def __init__(self, store: OverviewStore) -> None:
        self._store = store
        self._reading = asyncio.Lock()
        self._flows: Flows | None = None
        self._read_at = -math.inf

    async def get(self) -> Flows:
        """The flow rates, at most two seconds old."""
        loop = asyncio.get_running_loop()
        async with self._reading:
            if self._flows is None or loop.time() - self._read_at > FRESH:
                self._flows = await self._store.flows()
                self._read_at = loop.time()
            return self._flows
