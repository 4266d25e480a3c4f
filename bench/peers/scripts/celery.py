"""Celery on Redis: two processes that are forked once, messages fetched ahead, no results."""

from celery import Celery

from bench.peers.scripts.driving import ADDRESS, drive
from bench.stamps import stamp

app = Celery("bench", broker=f"{ADDRESS}/0")
app.conf.update(
    # Its documentation: a large number where tasks are short and there are many of them.
    worker_prefetch_multiplier=64,
    task_ignore_result=True,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="stamp")
def run(stamps: str) -> None:
    stamp(stamps)


class Product:
    """Its task; there is no call for many."""

    async def prepare(self) -> None:
        pass

    async def open(self) -> None:
        pass

    async def one(self, stamps: str) -> None:
        run.delay(stamps)

    async def many(self, stamps: str, jobs: int) -> None:
        with app.producer_pool.acquire(block=True) as producer:
            for _ in range(jobs):
                run.apply_async((stamps,), producer=producer)

    async def close(self) -> None:
        pass


if __name__ == "__main__":
    drive(Product())
