"""Sends deliveries that are due, some at a time, and records how each try ended.

A try holds one of `MOST` places until it is on record. The store gives no more than a few of one endpoint,
and gives the endpoints in turn, so that one which hangs holds its own places only.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tenure.core.errors import StoreError
from tenure.core.signals import Announce, WebhookPaused, WebhookTried
from tenure.core.webhooks.address import host_in
from tenure.core.webhooks.delivery import DeliveryState, DueDelivery, Try
from tenure.core.webhooks.signature import derived_secret, signed_headers
from tenure.relay.answer import Answer
from tenure.relay.names import Resolve
from tenure.relay.payload import without_documents
from tenure.relay.permissions import with_documents
from tenure.relay.retry import judged, unsigned
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.version import __version__

if TYPE_CHECKING:
    from tenure.relay.egress import Egress

MOST = 50
"""How many tries are under way in this process."""

HOLD = timedelta(seconds=35)
"""For how long a delivery is taken: longer than any try. One of a process that died comes again after it."""

EAGER_FOR = 2.0
EAGER = 0.2
"""Seconds between two looks, and for how long after the last try: what waits for its turn is soon due."""

LAST_SECONDS = 5.0
"""Seconds that tries under way have to end when the process ends."""

OUTCOMES = {DeliveryState.DELIVERED: "delivered", DeliveryState.WAITING: "failed", DeliveryState.DEAD: "dead"}


class Sender:
    """Takes turns of two loops: `take` begins tries, `settle` records their ends.

    `on_ended` is called when a try has ended, `on_room` when its place is free again.
    """

    def __init__(
        self,
        store: Store,
        holder: str,
        settings: Settings,
        on_signal: Announce,
        resolve: Resolve | None = None,
    ) -> None:
        self._store = store
        self._holder = holder
        self._settings = settings
        self._resolve = resolve
        self._egress: Egress | None = None
        self._on_signal = on_signal
        self._trying: set[asyncio.Task[None]] = set()
        self._ended: list[Try] = []
        self._places = MOST
        self._eager_until = 0.0
        self._again_at: list[float] = []
        self.on_ended = _nothing
        self.on_room = _nothing

    async def take(self) -> float | None:
        """Begin what is due, as far as there is room; returns seconds to rest, None until it is poked."""
        if not self._places:
            return None
        due = await self._store.due_deliveries(self._holder, limit=self._places, hold_for=HOLD)
        if due:
            self._eager_until = time.monotonic() + EAGER_FOR
            now = await self._now(due)
            # Asked anew for each try: what was noted may be sent much later, or once more.
            readers = await with_documents(self._store, {one.webhook.id: one.webhook for one in due}.values())
            if self._egress is None:
                # What it needs takes a while to load, and a process that sends nothing does without.
                self._egress = await asyncio.to_thread(_way_out, self._settings, self._resolve)
            for one in due:
                body = without_documents(one.body, one.webhook, may_read=one.webhook.id in readers)
                self._begin(replace(one, body=body), now, self._egress)
        return self._rest()

    async def settle(self) -> None:
        """Record the tries that have ended. If that fails, they are kept for the next turn."""
        tries = self._ended
        if not tries:
            return
        self._ended = []
        try:
            paused = await self._store.settle_deliveries(self._holder, tries)
        except BaseException:
            self._ended = [*tries, *self._ended]
            raise
        self._places += len(tries)
        now = time.monotonic()
        self._eager_until = now + EAGER_FOR
        self._again_at += [now + one.retry_after.total_seconds() for one in tries if one.retry_after]
        for one in tries:
            self._on_signal(WebhookTried(one.webhook, OUTCOMES[one.state], one.took.total_seconds()))
        for webhook in paused:
            self._on_signal(WebhookPaused(webhook.id, host_in(webhook.asked.url), webhook.reason or ""))
        self.on_room()

    async def close(self) -> None:
        """Wait a moment for what is under way, and record what has ended; the rest comes again."""
        if self._trying:
            await asyncio.wait(self._trying, timeout=LAST_SECONDS)
        for task in self._trying:
            task.cancel()
        if self._trying:
            await asyncio.wait(self._trying)
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self.settle()
        except (StoreError, TimeoutError):
            pass  # these come again as well
        if self._egress is not None:
            await self._egress.close()

    def _rest(self) -> float | None:
        """Seconds until something may be due that this process knows of."""
        now = time.monotonic()
        self._again_at = sorted(at for at in self._again_at if at > now)[: 10 * MOST]
        known = [self._again_at[0] - now] if self._again_at else []
        if self._places and now < self._eager_until:
            known.append(EAGER)
        return min(known, default=None)

    async def _now(self, due: Sequence[DueDelivery]) -> datetime:
        """The store's time where it is compared with what is on record, else this machine's."""
        if any(one.webhook.failing_since is not None for one in due):
            return await self._store.now()
        return datetime.now(UTC)

    def _begin(self, due: DueDelivery, now: datetime, egress: "Egress") -> None:
        self._places -= 1
        task = asyncio.create_task(self._try(due, now, egress))
        self._trying.add(task)
        task.add_done_callback(self._trying.discard)

    async def _try(self, due: DueDelivery, now: datetime, egress: "Egress") -> None:
        began = time.monotonic()
        ended = unsigned(due)
        try:
            secrets = self._secrets(due)
            if secrets:
                answer = await _sent(due, secrets, egress)
                ended = judged(due, answer, timedelta(seconds=time.monotonic() - began), now)
        except asyncio.CancelledError:
            self._places += 1
            raise
        self._ended.append(ended)
        self.on_ended()

    def _secrets(self, due: DueDelivery) -> list[str]:
        """The secrets that sign; empty if one is derived from a key that this process does not have."""
        found = []
        for secret in due.secrets:
            if secret.text is not None:
                found.append(secret.text)
            elif key := self._settings.webhook_key:
                found.append(derived_secret(key, due.webhook.id, secret.rotation))
            else:
                return []
        return found


async def _sent(due: DueDelivery, secrets: Sequence[str], egress: "Egress") -> Answer:
    body = due.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"Tenure/{__version__}",
        **signed_headers(due.delivery.message, datetime.now(UTC), body, secrets),
    }
    asked = due.webhook.asked
    try:
        return await egress.post(asked.url, headers, body, asked.timeout.total_seconds())
    except Exception as error:  # a bug must not hold a place for ever, nor be tried without a pause
        return Answer(None, f"a fault of the sender: {type(error).__name__}")


def _way_out(settings: Settings, resolve: Resolve | None) -> "Egress":
    from tenure.relay.egress import Egress

    return Egress(settings.webhook_allow, resolve)


def _nothing() -> None:
    pass
