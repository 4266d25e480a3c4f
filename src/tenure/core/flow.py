"""How much passes through each queue: jobs put in, attempts begun, jobs ended."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

LATELY = timedelta(minutes=1)
"""How far back it is looked."""

_LEAST = timedelta(seconds=1)


class Flow(Struct, frozen=True):
    """How many jobs were put into a queue, how many attempts began and how many jobs ended."""

    enqueued: int = 0
    started: int = 0
    finished: int = 0


class Flows(Struct, frozen=True):
    """What passed through each queue until now, as far as it was looked at.

    Jobs that were put in are all here since `enqueued_since`, steps since `stepped_since`: a minute ago, or
    less where more came to pass than is looked at.
    """

    now: datetime
    enqueued_since: datetime
    stepped_since: datetime
    by_queue: Mapping[str, Flow]

    def a_minute(self, queue: str) -> tuple[float, float, float]:
        """What is put in, begins and ends in a minute, at the pace of the time that is known."""
        flow = self.by_queue.get(queue, Flow())
        put_in, steps = (
            LATELY / max(self.now - since, _LEAST) for since in (self.enqueued_since, self.stepped_since)
        )
        return (
            round(flow.enqueued * put_in, 1),
            round(flow.started * steps, 1),
            round(flow.finished * steps, 1),
        )
