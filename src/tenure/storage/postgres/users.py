"""Who is at work with something that is to be closed."""

import asyncio


class Users:
    """Counts those at work, so that closing can wait for them."""

    def __init__(self) -> None:
        self._count = 0
        self._awaited: asyncio.Future[None] | None = None

    def enter(self) -> None:
        """One more is at work."""
        self._count += 1

    def leave(self) -> None:
        """One of them is done."""
        self._count -= 1
        if not self._count and self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    async def gone(self, timeout: float) -> None:
        """Wait until nobody is at work, or for so many seconds."""
        if self._count:
            self._awaited = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._awaited], timeout=timeout)
            self._awaited = None

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *_: object) -> None:
        self.leave()
