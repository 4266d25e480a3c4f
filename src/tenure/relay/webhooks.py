"""The service that sends webhooks: its loops, and what wakes them.

    fan-out   reads the feed from the cursor, and records deliveries
    hints     hears of changes while this process holds a cursor
    sender    begins the tries of due deliveries
    settler   records how tries ended

It asks the store nothing of its own accord while there is neither a cursor nor a delivery: `on_outlook` tells
it what the look of the duties has seen anyway.
"""

import asyncio
import time
from contextlib import suppress

from tenure.api.redaction import Redaction
from tenure.core.errors import StoreError
from tenure.core.reports.reading import Outlook
from tenure.core.signals import Announce
from tenure.engine.config import new_worker_name
from tenure.engine.upkeep.loop import Loop
from tenure.relay.fan_out import FanOut, away_for
from tenure.relay.names import Resolve
from tenure.relay.sender import Sender
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store

PACE = 0.05
"""The least seconds between two looks at the feed: what happens meanwhile is read together."""

QUIET_PACE = 0.25
"""The same where the last look found nothing that anybody wants."""

OTHERS_SHARE = 4
"""How many times as long as a look has taken the next one waits, where the feed was read to its end."""

IDLE = 3600.0
SOON = 60.0
LAST_SECOND = 1.0


class WebhookRelay:
    """Sends webhooks while it runs. `resolve` looks up names in place of the system."""

    def __init__(
        self, store: Store, settings: Settings, on_signal: Announce, resolve: Resolve | None = None
    ) -> None:
        holder = new_worker_name()
        self._store = store
        self._fan_out = FanOut(store, holder, Redaction(settings.redact))
        self._sender = Sender(store, holder, settings, on_signal, resolve)
        self._has_cursor = self._is_told = False
        self._may_look_at = 0.0
        self._holds = asyncio.Event()
        self._left = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._reading = Loop("webhooks.fan_out", self._read, on_signal)
        self._sending = Loop("webhooks.sender", self._send, on_signal)
        self._settling = Loop("webhooks.settler", self._settle, on_signal)
        self._hearing = Loop("webhooks.hints", self._hear, on_signal)
        self._sender.on_ended = self._settling.poke
        self._sender.on_room = self._tell_sender

    def on_outlook(self, outlook: Outlook) -> None:
        """Learn what the duties have seen: whether there is a cursor, and when a delivery is due."""
        if outlook.has_cursor != self._has_cursor:
            self._has_cursor = outlook.has_cursor
            self._reading.poke()
        if outlook.next_delivery is not None:
            self._send_in((outlook.next_delivery - outlook.now).total_seconds())

    async def run(self) -> None:
        """Send until cancelled; then end what is under way, within seconds."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for loop in (self._reading, self._sending, self._settling, self._hearing):
                    tasks.create_task(loop.run())
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await self._sender.close()
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST_SECOND):
                    await self._fan_out.save()

    async def _read(self) -> float:
        """Fan out what there is."""
        now = time.monotonic()
        if now < self._may_look_at:
            return self._may_look_at - now
        before = self._fan_out.recorded
        try:
            rest = await self._fan_out.turn() if self._has_cursor else None
        finally:
            self._tell_hearer()
        done = time.monotonic()
        has_recorded = self._fan_out.recorded > before
        if has_recorded:
            self._tell_sender()
        if rest is None:
            return away_for() if self._has_cursor else IDLE
        # However many events there are, most of the time is left for other work.
        pace = PACE if has_recorded else QUIET_PACE
        self._may_look_at = done + (max(pace, OTHERS_SHARE * (done - now)) if rest else done - now)
        return rest

    async def _send(self) -> float:
        """Begin what is due, if anybody has told of it; what is told meanwhile counts for the next turn."""
        is_told, self._is_told = self._is_told, False
        try:
            rest = await self._sender.take() if is_told else None
        except BaseException:
            self._is_told = True
            raise
        if rest is None:
            return IDLE
        self._is_told = True
        return rest

    async def _settle(self) -> float:
        await self._sender.settle()
        return IDLE

    def _send_in(self, seconds: float) -> None:
        """Look for what is due then, unless the next look of the duties comes first."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds <= 0:
            self._tell_sender()
        elif seconds < SOON:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._tell_sender)

    def _tell_sender(self) -> None:
        """Something may be due."""
        self._is_told = True
        self._sending.poke()

    def _tell_hearer(self) -> None:
        """Hints are wanted from the first cursor on, until there is none."""
        if self._fan_out.holds:
            self._left.clear()
            self._holds.set()
        elif not self._has_cursor:
            self._holds.clear()
            self._left.set()

    async def _hear(self) -> float:
        await self._holds.wait()
        async with self._store.listen(changes=True) as hints:
            hints.call(self._reading.poke)
            await self._left.wait()
        return 0.0
