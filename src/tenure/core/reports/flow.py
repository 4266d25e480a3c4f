"""Throughput of each queue: jobs enqueued, attempts started, jobs finished."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

LATELY = timedelta(minutes=1)
"""The window that is measured."""

_LEAST = timedelta(seconds=1)


class Flow(Struct, frozen=True):
    """How many jobs were put into a queue, how many attempts started and how many jobs finished."""

    enqueued: int = 0
    started: int = 0
    finished: int = 0


class Flows(Struct, frozen=True):
    """What passed through each queue lately.

    Enqueued jobs are complete since `enqueued_since`, steps since `stepped_since`: a minute ago, or less if
    there were more than are read.
    """

    now: datetime
    enqueued_since: datetime
    stepped_since: datetime
    by_queue: Mapping[str, Flow]

    def a_minute(self, queue: str) -> tuple[float, float, float]:
        """Jobs enqueued, attempts started and jobs finished a minute, extrapolated from the known time."""
        flow = self.by_queue.get(queue, Flow())
        put_in, steps = (
            LATELY / max(self.now - since, _LEAST) for since in (self.enqueued_since, self.stepped_since)
        )
        return (
            round(flow.enqueued * put_in, 1),
            round(flow.started * steps, 1),
            round(flow.finished * steps, 1),
        )
