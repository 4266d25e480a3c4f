"""Puts jobs into a queue of RQ's; runs in RQ's environment, as `python -m bench.peers.rq_fill`."""

import sys

import redis  # type: ignore[import-not-found]
import rq  # type: ignore[import-not-found]

from bench.stamps import stamp

AT_ONCE = 1_000


def main(url: str, queue: str, jobs: int, stamps: str) -> None:
    """Enqueue in bulk, as RQ's documentation advises for many jobs."""
    line = rq.Queue(queue, connection=redis.Redis.from_url(url))
    while jobs > 0:
        some = min(jobs, AT_ONCE)
        line.enqueue_many([rq.Queue.prepare_data(stamp, args=(stamps,)) for _ in range(some)])
        jobs -= some


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
