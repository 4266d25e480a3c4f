"""The time of the stores under test."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self, write: Callable[[datetime], Awaitable[None]]) -> None:
        self._write = write
        self.now = START

    async def advance(self, by: timedelta) -> datetime:
        """Move the store's time and answer with it."""
        self.now += by
        await self._write(self.now)
        return self.now
