"""RQ on Redis: workers that fork for each job, its own defaults."""

from redis import Redis
from rq import Queue

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp


class Product:
    """One queue."""

    async def prepare(self) -> None:
        pass

    async def open(self) -> None:
        self._queue = Queue("default", connection=Redis.from_url(ADDRESS))

    async def one(self, stamps: str) -> None:
        self._queue.enqueue(stamp, stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        self._queue.enqueue_many([Queue.prepare_data(stamp, args=(stamps,)) for _ in range(jobs)])

    async def close(self) -> None:
        self._queue.connection.close()


if __name__ == "__main__":
    drive(Product())
