"""PgQueuer on asyncpg and uvloop, a hundred jobs a batch."""

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

BATCH = 100


class Product:
    """Its queries on a pool, as of a program with several callers; a single one uses one connection."""

    async def prepare(self) -> None:
        connection = await asyncpg.connect(ADDRESS)
        await Queries(AsyncpgDriver(connection)).install()
        await connection.close()

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(ADDRESS, min_size=1)
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def one(self, stamps: str) -> None:
        await self._queries.enqueue("stamp", stamps.encode())

    async def many(self, stamps: str, jobs: int) -> None:
        await self._queries.enqueue(["stamp"] * jobs, [stamps.encode()] * jobs, [0] * jobs)

    async def close(self) -> None:
        await self._pool.close()


async def _work() -> None:
    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(ADDRESS)))

    @queue.entrypoint("stamp")
    async def run(job: Job) -> None:
        stamp(job.payload.decode())

    await queue.run(batch_size=BATCH)


if __name__ == "__main__":
    drive(Product(), lambda: uvloop.run(_work()))
