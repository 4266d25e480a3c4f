"""The store's time on SQLite: the machine's clock, but never before a time that the store has already seen.

The latest time is kept in the file, so that all processes agree on it. When the machine's clock is set back,
the store's time stands still until the clock has caught up: leases and delays then last longer, but nothing
runs early and no lease is cut short. The number of the last transaction that wrote is kept beside it.
"""

import time
from typing import NamedTuple

import apsw

_TABLES = "SELECT name FROM sqlite_schema WHERE name IN ('tenure_sequence', 'tenure_test_clock')"
_LATEST = """
    SELECT (SELECT n FROM tenure_sequence WHERE name = 'clock'),
           (SELECT n FROM tenure_sequence WHERE name = 'mark')
"""
_BY_HAND = "SELECT at FROM tenure_test_clock"
_KEEP = """
    UPDATE tenure_sequence
       SET n = CASE name WHEN 'clock' THEN iif(n = :latest, :now, n) ELSE max(n, :mark) END
     WHERE name IN ('clock', 'mark')
"""


class TransactionTime(NamedTuple):
    """The time of a transaction, in microseconds since 1970, and its number."""

    now: int
    mark: int


class StoreClock:
    """Reads the store's time on one connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Only tests make this table: their clock stands still until a test moves it.
        self._by_hand = "tenure_test_clock" in _tables(connection)
        self._has_memory = False
        self._changes = 0
        self._latest = 0

    def read(self, connection: apsw.Connection) -> TransactionTime:
        """The time and number of the transaction that has just begun."""
        self._changes = connection.total_changes()
        latest, last_mark = self._memory(connection)
        self._latest = latest
        machine = time.time_ns() // 1000
        now = int(connection.execute(_BY_HAND).get) if self._by_hand else max(machine, latest)
        return TransactionTime(now, last_mark + 1)

    def keep(self, connection: apsw.Connection, turn: TransactionTime) -> None:
        """Store the time and number with what the transaction wrote; one that wrote nothing writes none.

        A time that the transaction has set itself stays: see `clock_reset`.
        """
        if self._has_memory and connection.total_changes() != self._changes:
            connection.execute(_KEEP, {**turn._asdict(), "latest": self._latest})

    def _memory(self, connection: apsw.Connection) -> tuple[int, int]:
        self._has_memory = self._has_memory or "tenure_sequence" in _tables(connection)
        if not self._has_memory:
            return 0, 0
        latest, mark = connection.execute(_LATEST).get
        return int(latest), int(mark)


def _tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute(_TABLES)}
