"""When to look at a file again: soon after it was written to, which the kernel says, and now and then.

A commit can be read some time after it was written: its sync to disk lies between. So one look is not enough;
looks follow for as long as a sync takes, at first close together. What it should have said but did not
is found by a look a second; if that finds something again and again, the kernel is not relied upon any more.
"""

import asyncio
from pathlib import Path

from tenure.storage.sqlite.file.log_writes import LogWrites

_FIRST, _AFTER_NEWS = 0.0005, 0.002
"""How long until the next look: after the kernel has spoken, and after news, which more may follow."""
_SHORTEST, _LONGEST = 0.005, 0.02
"""The least and the most when nobody speaks."""
_USUAL_SYNC, _SLOW_SYNC = 0.03, 1.0
"""Within these times a commit that was written can be read, on most disks and on a slow one."""
LOOK_EVERY = 1.0
_MOST_MISSED = 3


class LookPace:
    """Waits between looks. Belongs to one task."""

    def __init__(self, file: Path, *, look_every: float = LOOK_EVERY) -> None:
        """Look every so many seconds, whatever the kernel says."""
        self._look_every = look_every
        self._loop = asyncio.get_running_loop()
        self._writes = LogWrites(file)
        self.is_armed = self._writes.arm()
        """Whether the kernel is relied upon."""
        self.is_silent = False
        """Whether the last pause ended without a word of the kernel's."""
        self._armed_at = self._stirred_at = self._loop.time()
        self._gap = _FIRST
        self._is_unread = False
        self._missed = 0

    async def pause(self) -> None:
        """Wait until a look is due."""
        since = self._loop.time() - self._stirred_at
        self.is_silent = False
        if not self.is_armed:
            await asyncio.sleep(min(max(since / 100, _SHORTEST), _LONGEST))
            self._arm_again()
        elif since < _USUAL_SYNC:
            await asyncio.sleep(min(max(since, self._gap), _SHORTEST))
        elif self._is_unread and since < _SLOW_SYNC:
            await asyncio.sleep(_LONGEST)
        else:
            await self._next_write()
        if self._writes.take():
            self._stirred_at, self._gap, self._is_unread = self._loop.time(), _FIRST, True
            self._missed = 0

    def found(self, *, news: bool) -> None:
        """Take in what the look found."""
        if not news:
            return
        if self.is_silent and not self._writes.take():
            self._missed += 1
            self.is_armed = self._missed < _MOST_MISSED
        self._stirred_at, self._gap, self._is_unread = self._loop.time(), _AFTER_NEWS, False

    def close(self) -> None:
        """Watch nothing any more."""
        self._writes.close()

    async def _next_write(self) -> None:
        """Wait until the kernel speaks; after a second look in any case, at the log that is there then."""
        written = asyncio.Event()
        self._loop.add_reader(self._writes.fileno(), written.set)
        try:
            async with asyncio.timeout(self._look_every):
                await written.wait()
        except TimeoutError:
            self.is_silent = True
        finally:
            self._loop.remove_reader(self._writes.fileno())
        self.is_armed = self._writes.arm()

    def _arm_again(self) -> None:
        if self._missed < _MOST_MISSED and self._loop.time() - self._armed_at >= self._look_every:
            self._armed_at = self._loop.time()
            self.is_armed = self._writes.arm()
