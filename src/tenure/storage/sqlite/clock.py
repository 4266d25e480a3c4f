"""The store's time on SQLite: the machine's clock, but never before a time the store has already seen.

The latest time is kept in the file, so that all processes agree on it. When the machine's clock is set back,
the store's time stands still until the clock has caught up: leases and delays then last longer, but nothing
runs early and no lease is cut short.
"""

import time

import apsw

_TABLES = "SELECT name FROM sqlite_schema WHERE name IN ('tenure_sequence', 'tenure_test_clock')"
_LATEST = "SELECT n FROM tenure_sequence WHERE name = 'clock'"
_BY_HAND = "SELECT at FROM tenure_test_clock"
_KEEP = "UPDATE tenure_sequence SET n = ? WHERE name = 'clock'"


class StoreClock:
    """Reads the store's time inside a transaction of the writer."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Only tests make this table: theirs is a clock that stands still until it is moved by hand.
        self._by_hand = "tenure_test_clock" in _tables(connection)
        self._has_memory = False
        self._changes = 0

    def read(self, connection: apsw.Connection) -> int:
        """The time of the transaction that has just begun, in microseconds since 1970."""
        self._changes = connection.total_changes()
        if self._by_hand:
            return int(connection.execute(_BY_HAND).get)
        machine = time.time_ns() // 1000
        self._has_memory = self._has_memory or "tenure_sequence" in _tables(connection)
        return max(machine, int(connection.execute(_LATEST).get)) if self._has_memory else machine

    def keep(self, connection: apsw.Connection, now: int) -> None:
        """Remember the time with what the transaction wrote; one that wrote nothing stays free of charge."""
        if self._has_memory and connection.total_changes() != self._changes:
            connection.execute(_KEEP, (now,))


def _tables(connection: apsw.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute(_TABLES)}
