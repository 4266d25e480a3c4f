"""Ids for new jobs: UUIDv7 by the store's time, each larger than the one before it in this process."""

import os
import threading
import time
from datetime import datetime
from uuid import UUID

from tenure.core.values.ids import numbered, uuid7


class Identity:
    """Makes ids by the local clock, corrected once by the store's."""

    def __init__(self, store_now: datetime) -> None:
        self._ahead_ms = int(store_now.timestamp() * 1000) - time.time_ns() // 1_000_000
        self._last = 0
        self._making = threading.Lock()

    def make(self) -> UUID:
        """A new id."""
        with self._making:
            now_ms = time.time_ns() // 1_000_000 + self._ahead_ms
            if now_ms <= self._last >> 80:
                # Same millisecond: count on from the last id, to keep the order.
                made = numbered(self._last + 1 + int.from_bytes(os.urandom(3)))
            else:
                made = uuid7(now_ms, os.urandom(10))
            self._last = made.int
            return made

    def make_many(self, count: int) -> list[UUID]:
        """`count` new ids, each larger than the one before it; at least one."""
        made, steps = [self.make()], os.urandom(3 * (count - 1))
        with self._making:
            last = self._last
            for at in range(0, len(steps), 3):
                last += 1 + int.from_bytes(steps[at : at + 3])
                made.append(numbered(last))
            self._last = last
        return made
