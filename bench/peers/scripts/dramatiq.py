"""Dramatiq on Redis, its own defaults without the metrics."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import default_middleware

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

_MIDDLEWARE = [each() for each in default_middleware if each.__name__ != "Prometheus"]

dramatiq.set_broker(RedisBroker(url=ADDRESS, middleware=_MIDDLEWARE))


@dramatiq.actor
def run(stamps: str) -> None:
    stamp(stamps)


class Product:
    """Its actor."""

    async def prepare(self) -> None:
        pass

    async def open(self) -> None:
        pass

    async def one(self, stamps: str) -> None:
        run.send(stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        dramatiq.group([run.message(stamps) for _ in range(jobs)]).run()

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    drive(Product())
