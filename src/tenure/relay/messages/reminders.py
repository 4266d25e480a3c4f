"""The second sending: names jobs once more that stand in line although their message should have come.

A message may be lost with the process that was to send it, and a job that a caller records in a transaction
of its own has none. Of all workers on a queue one searches at a time; what it names is on record.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

from tenure.core.signals import Announce, JobsReminded
from tenure.storage.contract.store import Store

AFTER = timedelta(seconds=10)
"""How long a job stands in line before its message seems lost: most are claimed in a fraction of a second."""

EVERY = timedelta(seconds=5)
MOST = 1000
"""How many jobs one search names. Where more wait, workers are too few, and messages are not what lacks."""


class Reminders:
    """Searches for jobs that no message has led to, and has them named again."""

    def __init__(
        self, store: Store, queue: str, send: Callable[[Iterable[UUID]], None], has_unsent: Callable[[], bool]
    ) -> None:
        """`send` has messages sent; while it `has_unsent` ones nothing is added."""
        self._store = store
        self._queue = queue
        self._send = send
        self._has_unsent = has_unsent

    async def search(self, on_signal: Announce) -> float:
        """Search once, if it is time to; returns how long to rest."""
        if not self._has_unsent():
            late = await self._store.remind(self._queue, after=AFTER, every=EVERY, limit=MOST)
            if late:
                self._send(late)
                on_signal(JobsReminded(len(late)))
        return EVERY.total_seconds()
