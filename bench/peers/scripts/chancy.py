"""Chancy on psycopg, a hundred jobs at once on its asyncio executor, asking again as soon as one is done."""

import asyncio

from chancy import Chancy, Queue, Worker, job

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

AT_ONCE = 100
BULK = 1_000


@job()
async def run(*, stamps: str) -> None:
    stamp(stamps)


class Product:
    """Its client."""

    async def prepare(self) -> None:
        queue = Queue("default", concurrency=AT_ONCE, executor=Chancy.Executor.Async, eager_polling=True)
        async with Chancy(ADDRESS) as chancy:
            await chancy.migrate()
            await chancy.declare(queue)

    async def open(self) -> None:
        self._chancy = Chancy(ADDRESS)
        await self._chancy.__aenter__()

    async def one(self, stamps: str) -> None:
        await self._chancy.push(run.job.with_kwargs(stamps=stamps))

    async def many(self, stamps: str, jobs: int) -> None:
        made = [run.job.with_kwargs(stamps=stamps)] * jobs
        async for _ in self._chancy.push_many(made, batch_size=BULK):
            pass

    async def close(self) -> None:
        await self._chancy.__aexit__(None, None, None)


async def _work() -> None:
    async with Chancy(ADDRESS) as chancy, Worker(chancy) as worker:
        await worker.wait_for_shutdown()


if __name__ == "__main__":
    drive(Product(), lambda: asyncio.run(_work()))
