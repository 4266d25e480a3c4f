"""Procrastinate on psycopg, twenty jobs at once, woken by notifications."""

import asyncio

from procrastinate import App, PsycopgConnector

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

AT_ONCE = 20
QUEUE = "default"

app = App(connector=PsycopgConnector(conninfo=ADDRESS, max_size=AT_ONCE))


@app.task(name="stamp", queue=QUEUE)
async def run(stamps: str) -> None:
    stamp(stamps)


class Product:
    """Its app and its one task."""

    async def prepare(self) -> None:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await app.open_async()

    async def one(self, stamps: str) -> None:
        await run.defer_async(stamps=stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        await run.batch_defer_async(*({"stamps": stamps} for _ in range(jobs)))

    async def close(self) -> None:
        await app.close_async()


async def _work() -> None:
    async with app.open_async():
        await app.run_worker_async(queues=[QUEUE], concurrency=AT_ONCE)


if __name__ == "__main__":
    drive(Product(), lambda: asyncio.run(_work()))
