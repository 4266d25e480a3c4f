"""Heartbeats: one statement prolongs every lease, and its answer says what to stop.

While the store cannot be reached, leases still run out there, and another worker may then claim the job. So
each attempt is halted, by this machine's monotonic clock, some time before its lease can end at the earliest.
"""

import asyncio
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tenure.core.errors import DataRefused, InvalidInput, StoreRefused, StoreUnavailable
from tenure.core.model.lease import Beat, Lease, Presence, Progress, Pulse
from tenure.core.reports.reading import Outlook
from tenure.core.signals import Announce, JobPutAside
from tenure.engine.config import WorkerConfig
from tenure.engine.worker.held_attempt import HeldAttempt
from tenure.engine.worker.slot_pool import SlotPool
from tenure.execution.parent.attempt_terms import StopReason
from tenure.storage.contract.store import Store

TRIES_A_LEASE = 4
"""How many unanswered heartbeats fit into a lease."""

EARLY, LATE = 0.9, 1.1
"""A look at the outlook stands for the heartbeat of a worker without leases, so much sooner or later."""


class Heartbeat:
    """Keeps this worker's leases, and gives up what it cannot keep."""

    def __init__(
        self,
        store: Store,
        pools: Sequence[SlotPool],
        config: WorkerConfig,
        *,
        is_ready: Callable[[], bool],
        on_drain: Callable[[], None],
        on_signal: Announce,
    ) -> None:
        """`on_drain` runs when an operator wants no more claims."""
        self._store = store
        self._pools = pools
        self._config = config
        self._is_ready = is_ready
        self._on_drain = on_drain
        self._on_signal = on_signal
        self._sending = asyncio.Lock()
        self._held_nothing = False
        self._is_urgent = False
        self._seen_at = -math.inf

    def present(self) -> Presence | None:
        """This worker, if a heartbeat is due and a look at the outlook may stand for it."""
        is_due = time.monotonic() >= self._seen_at + EARLY * self._config.heartbeat_seconds
        if not is_due or not self._held_nothing or self._held():
            return None
        return Presence(self._config.worker, self._is_ready())

    def on_seen(self, outlook: Outlook) -> None:
        """A look with `present` has been answered."""
        self._seen_at = time.monotonic()
        if outlook.drain:
            self._on_drain()

    def hurry(self) -> None:
        """There may be news for this worker: the next beat must ask the store."""
        self._is_urgent = True

    async def beat(self) -> float:
        """Prolong every lease; stop attempts that are lost or cancelled."""
        held = self._held()
        rest = self._seen_at + LATE * self._config.heartbeat_seconds - time.monotonic()
        if rest > 0 and self._held_nothing and not held and not self._is_urgent:
            return rest
        self._is_urgent = False
        progress = {
            lease: attempt.unsent_progress
            for lease, attempt in held.items()
            if attempt.unsent_progress is not None
        }
        asked_at = time.monotonic()
        beat = await self._send(self._pulse(held, progress))
        for lease in progress.keys() - beat.untold:
            held[lease].mark_sent(progress[lease])
        for lease in beat.kept:
            held[lease].prolong(self._config.deadlines(asked_at))
        for lease in beat.lost:
            # An attempt that was settled meanwhile counts as lost, too, but is already forgotten.
            held[lease].stop.ask(StopReason.LOST)
        for lease in beat.cancelling:
            held[lease].stop.ask(StopReason.CANCELLED)
        for pool in self._pools:
            pool.remove_stopped()
        if beat.drain:
            self._on_drain()
        await self._strand(beat.lost)
        self._held_nothing = not held
        return self._config.heartbeat_seconds

    def _held(self) -> dict[Lease, HeldAttempt]:
        return {attempt.lease: attempt for pool in self._pools for attempt in pool.held()}

    async def _strand(self, lost: Collection[Lease]) -> None:
        """Report leases whose rows are gone: no worker would ever get their jobs."""
        ours = {attempt.lease for pool in self._pools for attempt in pool.unended()}
        if stranded := [lease for lease in lost if lease in ours]:
            for aside in await self._store.strand(self._config.worker, stranded):
                self._on_signal(JobPutAside(aside))

    async def send_progress(self, ended: Sequence[HeldAttempt]) -> None:
        """Send the last progress of attempts that have ended: settling their outcome ends their lease."""
        unsent = [
            (attempt, attempt.unsent_progress) for attempt in ended if attempt.unsent_progress is not None
        ]
        if not unsent:
            return
        progress = {attempt.lease: sent for attempt, sent in unsent}
        try:
            await self._send(self._pulse(progress, progress))
        except (InvalidInput, StoreRefused):
            # The store will never accept it: it must not block the outcomes.
            for attempt, sent in unsent:
                attempt.mark_sent(sent)
            raise
        for attempt, sent in unsent:
            attempt.mark_sent(sent)

    def _pulse(self, leases: Iterable[Lease], progress: Mapping[Lease, Progress]) -> Pulse:
        return Pulse(
            worker=self._config.worker,
            leases=list(leases),
            lease_for=self._config.lease_for,
            progress=progress,
            ready=self._is_ready(),
        )

    async def _send(self, pulse: Pulse) -> Beat:
        """Send a heartbeat; if no answer comes, give up while there is time for another."""
        patience = self._config.lease_seconds / TRIES_A_LEASE
        try:
            # One at a time: older progress must not arrive after newer.
            async with asyncio.timeout(patience), self._sending:
                try:
                    return await self._store.heartbeat(pulse)
                except DataRefused:  # the progress of one attempt must not cost the others their leases
                    return await self._store.heartbeat(replace(pulse, progress={}))
        except TimeoutError:
            raise StoreUnavailable(f"no answer to a heartbeat within {patience:g} s") from None

    async def halt_expiring(self) -> float:
        """Halt attempts whose lease may end soon."""
        for pool in self._pools:
            pool.halt_expiring()
        return self._config.lease_seconds / 30
