"""Counts the uses of something, so that closing it can wait for the last."""

import asyncio


class InUse:
    """How many uses are under way."""

    def __init__(self) -> None:
        self._count = 0
        self._idle: asyncio.Future[None] | None = None

    def enter(self) -> None:
        """A use begins."""
        self._count += 1

    def leave(self) -> None:
        """A use ends."""
        self._count -= 1
        if not self._count and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def wait_idle(self, timeout: float) -> None:
        """Wait until no use is under way, for at most `timeout` seconds."""
        if self._count:
            self._idle = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._idle], timeout=timeout)
            self._idle = None

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()
