"""Tenure as its users call it; a job that is enqueued alone has an idempotency key of its own."""

import os
from uuid import uuid4

from bench.lane_jobs import define
from bench.peers.scripts.driving import ADDRESS, drive
from tenure import Tenure
from tenure.storage.address import store_for

LANE = os.environ.get("BENCH_LANE", "process")


class Product:
    """A program with one definition, in the lane that the environment names."""

    async def prepare(self) -> None:
        store = store_for(ADDRESS)
        await store.open()
        await store.migrate()
        await store.close()

    async def open(self) -> None:
        self._app = Tenure(ADDRESS)
        self._job = define(self._app, LANE)

    async def one(self, stamps: str) -> None:
        await self._job.enqueue({"stamps": stamps}, idempotency_key=uuid4().hex)

    async def many(self, stamps: str, jobs: int) -> None:
        await self._job.enqueue_many({"stamps": stamps} for _ in range(jobs))

    async def close(self) -> None:
        await self._app.close()


if __name__ == "__main__":
    drive(Product())
