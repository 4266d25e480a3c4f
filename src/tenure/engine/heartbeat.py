"""Signs of life: one statement prolongs every lease, and its answer says what to stop.

When the store cannot be reached, leases run out there whether or not anybody sees it. So each attempt is
halted, by this machine's own monotonic clock, some time before the earliest moment at which its lease can
end: another worker may take the job from then on.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tenure.core.errors import DataRefused, InvalidInput, StoreRefused, StoreUnavailable
from tenure.core.lease import Beat, Lease, Progress, Pulse
from tenure.core.signals import Announce, JobPutAside
from tenure.engine.attempts import Attempts
from tenure.engine.manner import Manner
from tenure.engine.running import Running
from tenure.execution.halting import Halt
from tenure.storage.contract import Store

PATIENCES_A_LEASE = 4


class Heartbeat:
    """Keeps this worker's leases, and gives up what it cannot keep."""

    def __init__(
        self,
        store: Store,
        attempts: Sequence[Attempts],
        manner: Manner,
        *,
        is_ready: Callable[[], bool],
        drain: Callable[[], None],
        announce: Announce,
    ) -> None:
        """`attempts` are those of every desk; `drain` is called when an operator wants no more claims."""
        self._store = store
        self._attempts = attempts
        self._manner = manner
        self._is_ready = is_ready
        self._drain = drain
        self._announce = announce
        self._saying = asyncio.Lock()

    async def beat(self) -> float:
        """Prolong everything; stop what is lost or was asked to stop."""
        held = {running.lease: running for attempts in self._attempts for running in attempts.held()}
        progress = {lease: running.unsaid for lease, running in held.items() if running.unsaid is not None}
        began = time.monotonic()
        beat = await self._sent(self._pulse(held, progress))
        for lease, told in progress.items():
            held[lease].said(told)
        for lease in beat.kept:
            held[lease].prolong(self._manner.hold(began))
        for lease in beat.lost:
            # One that was settled meanwhile is lost too, and long gone.
            held[lease].halting.ask(Halt.LOST)
        for lease in beat.cancelling:
            held[lease].halting.ask(Halt.CANCELLED)
        self._sift()
        if beat.drain:
            self._drain()
        await self._strand(beat.lost)
        return self._manner.heartbeat_seconds

    async def _strand(self, lost: Collection[Lease]) -> None:
        """What is lost because the row of its lease is gone is nobody's: somebody has to be told."""
        ours = {running.lease for attempts in self._attempts for running in attempts.unended()}
        if stranded := [lease for lease in lost if lease in ours]:
            for aside in await self._store.strand(self._manner.worker, stranded):
                self._announce(JobPutAside(aside))

    async def finish(self, ended: Sequence[Running]) -> None:
        """Tell how far attempts have come that have ended: with their outcome, their lease is gone."""
        unsaid = [(running, running.unsaid) for running in ended if running.unsaid is not None]
        if not unsaid:
            return
        progress = {running.lease: told for running, told in unsaid}
        try:
            await self._sent(self._pulse(progress, progress))
        except (InvalidInput, StoreRefused):
            # It never will be taken: it must not keep outcomes from being told.
            for running, told in unsaid:
                running.said(told)
            raise
        for running, told in unsaid:
            running.said(told)

    def _pulse(self, leases: Iterable[Lease], progress: Mapping[Lease, Progress]) -> Pulse:
        return Pulse(
            worker=self._manner.worker,
            leases=list(leases),
            lease_for=self._manner.lease_for,
            progress=progress,
            ready=self._is_ready(),
        )

    async def _sent(self, pulse: Pulse) -> Beat:
        """One that is stuck is given up while there is time for another."""
        patience = self._manner.lease_seconds / PATIENCES_A_LEASE
        try:
            # One at a time: what an earlier one says of progress must not arrive after a later one.
            async with asyncio.timeout(patience), self._saying:
                try:
                    return await self._store.heartbeat(pulse)
                except DataRefused:  # what some of them say must not cost the others their leases
                    return await self._store.heartbeat(replace(pulse, progress={}))
        except TimeoutError:
            raise StoreUnavailable(f"no answer to a heartbeat within {patience:g} s") from None

    async def fence(self) -> float:
        """Halt what may not be ours for much longer."""
        now = time.monotonic()
        for attempts in self._attempts:
            for running in (*attempts.running.values(), *attempts.waiting.values()):
                if running.hold.halt_at <= now:
                    running.halting.ask(Halt.LOST)
        self._sift()
        return self._manner.lease_seconds / 30

    def _sift(self) -> None:
        for attempts in self._attempts:
            attempts.sift()
