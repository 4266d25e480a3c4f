"""Gauges of jobs in line and of deliveries that wait, read at a scrape: the cost is bounded."""

import asyncio
from collections import defaultdict
from datetime import datetime

from tenure.core.errors import StoreError
from tenure.core.model.states import FINAL, State
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.instruments import Gauge, Instrument, Labels, Names

PATIENCE = 3.0
"""Seconds that a scrape waits for the store: an answer without these gauges is better than none."""

FRESH = 1.0
"""Seconds for which one reading serves all scrapes."""

SHARE = 0.1
"""The part of the time that reading may take, however often scrapes come and however slow it is."""


class QueueGauges:
    """Depth, age and states of jobs by their definition."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._depth = Gauge("job_queue_depth", "Jobs that are queued, in all of the store.", "job_type")
        self._oldest = Gauge(
            "tenure_queue_oldest_seconds", "How long the first of them has waited, by definition.", "job_type"
        )
        self._jobs = Gauge("tenure_jobs", "Jobs that have not ended, by state.", "job_type", "state")
        self._deliveries = Gauge("tenure_webhook_waiting", "Deliveries of webhooks that wait for a try.")
        self._oldest_delivery = Gauge(
            "tenure_webhook_oldest_seconds", "How long ago the first of them was noted."
        )
        self._doubts = Gauge(
            "tenure_effects_in_doubt", "Effects that may or may not have happened, up to 200."
        )
        self._up = Gauge("tenure_store_up", "Whether the store answered this scrape.")
        self._looking = asyncio.Lock()
        self._look_at = 0.0

    @property
    def instruments(self) -> list[Instrument]:
        """The gauges."""
        return [*self._of_the_store(), self._up]

    async def look(self, store: Store) -> None:
        """Update the gauges; if the store does not answer, they are empty and `tenure_store_up` is 0."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            began = loop.time()
            if began < self._look_at:
                return
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._read(store)
            except (StoreError, TimeoutError):
                for gauge in self._of_the_store():
                    gauge.set({})
                self._up.set({(): 0})
            self._look_at = began + max(FRESH, (loop.time() - began) / SHARE)

    def _of_the_store(self) -> tuple[Gauge, ...]:
        return (self._depth, self._oldest, self._jobs, self._deliveries, self._oldest_delivery, self._doubts)

    async def _read(self, store: Store) -> None:
        lines, now = await store.lines(), await store.now()
        jobs: dict[Labels, float] = defaultdict(float)
        depth: dict[Labels, float] = defaultdict(float)
        oldest: dict[Labels, float] = defaultdict(float)
        for status in lines:
            name = self._names.of(status.line.definition)
            for state, n in status.counts.items():
                if state not in FINAL:
                    jobs[name, state.value] += n
            depth[name,] += status.counts.get(State.QUEUED, 0)
            age = 0.0 if status.oldest is None else (now - status.oldest).total_seconds()
            oldest[name,] = max(oldest[name,], age)
        self._depth.set(depth)
        self._oldest.set(oldest)
        self._jobs.set(jobs)
        await self._read_webhooks(store, now)
        self._doubts.set({(): len(await store.effects_in_doubt(limit=LARGEST_PAGE))})
        self._up.set({(): 1})

    async def _read_webhooks(self, store: Store, now: datetime) -> None:
        """Of the first webhooks by id: a page of them."""
        webhooks = await store.webhooks(limit=LARGEST_PAGE)
        figures = (await store.webhook_figures([one.id for one in webhooks])).values() if webhooks else ()
        oldest = min((one.oldest_waiting for one in figures if one.oldest_waiting is not None), default=None)
        self._deliveries.set({(): sum(one.waiting for one in figures)})
        self._oldest_delivery.set({(): 0.0 if oldest is None else (now - oldest).total_seconds()})
