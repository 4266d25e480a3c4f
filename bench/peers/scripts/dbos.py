"""DBOS on psycopg: workflows on a queue, a hundred at once, looked for ten times a second."""

import asyncio
import threading

from dbos import DBOS, DBOSClient, DBOSConfig

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

AT_ONCE = 100
LOOK_EVERY = 0.1
QUEUE = "stamps"
VERSION = "1"
DATABASE = ADDRESS.replace("postgresql://", "postgresql+psycopg://")


@DBOS.workflow()
def run(stamps: str) -> None:
    stamp(stamps)


def _launch() -> None:
    config = DBOSConfig(
        name="bench",
        system_database_url=DATABASE,
        application_version=VERSION,
        log_level="ERROR",
        sys_db_pool_size=20,
    )
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=LOOK_EVERY)


class Product:
    """Its client, which enqueues one workflow a call and knows no other way."""

    async def prepare(self) -> None:
        await asyncio.to_thread(_launch)  # it refuses a thread whose loop runs
        await asyncio.to_thread(DBOS.destroy)

    async def open(self) -> None:
        self._client = DBOSClient(system_database_url=DATABASE)
        self._options = {"queue_name": QUEUE, "workflow_name": run.__qualname__, "app_version": VERSION}

    async def one(self, stamps: str) -> None:
        self._client.enqueue(self._options, stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        for _ in range(jobs):
            await self.one(stamps)

    async def close(self) -> None:
        self._client.destroy()


def _work() -> None:
    _launch()
    threading.Event().wait()


if __name__ == "__main__":
    drive(Product(), _work)
