"""Oban for Python on psycopg and uvloop, a hundred jobs at once."""

import asyncio

import uvloop
from oban import Job, Oban, worker
from oban.schema import install

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

AT_ONCE = 100


@worker(queue="default")
class Run:
    """Its one kind of job."""

    async def process(self, job: Job) -> None:
        """Leave a stamp."""
        stamp(job.args["stamps"])


class Product:
    """A client without queues of its own."""

    async def prepare(self) -> None:
        pool = await Oban.create_pool(ADDRESS)
        await install(pool)
        await pool.close()

    async def open(self) -> None:
        self._pool = await Oban.create_pool(ADDRESS)
        self._oban = Oban(pool=self._pool)
        await self._oban.start()

    async def one(self, stamps: str) -> None:
        await self._oban.enqueue(Run.new({"stamps": stamps}))

    async def many(self, stamps: str, jobs: int) -> None:
        await self._oban.enqueue_many([Run.new({"stamps": stamps}) for _ in range(jobs)])

    async def close(self) -> None:
        await self._oban.stop()
        await self._pool.close()


async def _work() -> None:
    async with Oban(pool=await Oban.create_pool(ADDRESS), queues={"default": AT_ONCE}):
        await asyncio.Event().wait()


if __name__ == "__main__":
    drive(Product(), lambda: uvloop.run(_work()))
