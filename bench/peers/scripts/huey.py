"""Huey, which enqueues one task a call and knows no other way."""

from bench.peers.scripts.driving import drive
from bench.peers.scripts.huey_tasks import run


class Product:
    """Its task."""

    async def prepare(self) -> None:
        pass

    async def open(self) -> None:
        pass

    async def one(self, stamps: str) -> None:
        run(stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        for _ in range(jobs):
            run(stamps)

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    drive(Product())
