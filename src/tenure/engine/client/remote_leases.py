"""Leases for workers that are not processes of Tenure: they claim, prolong and end attempts by requests.

Every job has its own lease row here, so that each is prolonged, bounded and lost by itself: jobs that are
claimed together would share a row, and prolonging one would prolong all.

No process of ours can stop such an attempt. Its lease bounds it: that is never prolonged beyond the grace
after the job's time-out, or after the request to stop. Within the grace the answers ask the worker to stop;
if it does not, it counts as lost.
"""

import asyncio
import random
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import InvalidInput, JobNotFound, StoreError
from tenure.core.model.aside import JobsAside
from tenure.core.model.durable import Suspension, Wait
from tenure.core.model.job import Job
from tenure.core.model.lease import Claimed, Lease, Line, Order, Progress, Pulse, RemoteClaim, Stop
from tenure.core.model.outcome import Ending, Report
from tenure.core.model.retry import AttemptEnd, Returned, TimedOut, WasStopped, decide
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine, Trail
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.bounds import LEASE_LENGTH
from tenure.engine.client.arrivals import Arrivals
from tenure.storage.contract.store import Store

INTRODUCED_FOR = 10.0
"""Seconds after which a worker's next claim puts it on record again, and checks whether it should drain."""

MOST_NAMES = 1000
"""Workers that one key may have on record at once."""

_MOST_INTRODUCED = 10_000
_SUCCEEDED = frozenset({Ending.SUCCEEDED})
_FAILED = frozenset({Ending.RECOVERABLE, Ending.UNRECOVERABLE, Ending.STOPPED})
_SUSPENDED = frozenset({Ending.SUSPENDED})
_RETURNED = frozenset({Ending.HANDED_BACK, Ending.KILLED, Ending.STOPPED})


class RemoteLease(Struct, frozen=True):
    """The worker that claims to own an attempt, and its lease."""

    worker: str
    lease: Lease


class ProlongedLease(Struct, frozen=True):
    """A lease that still holds: until when, for how long, and why the attempt should stop, if it should."""

    expires_at: datetime
    lease_for: timedelta
    stop: Stop | None
    drain: bool


class SentLine(NamedTuple):
    """A log line of an attempt; `n` counts from 1, so that it may be sent again."""

    n: int
    level: str
    text: str


class ReportAnswer(Struct, frozen=True):
    """The state that a report led to; `is_late` if the attempt was ended as timed out."""

    state: State
    is_late: bool = False


class RemoteLeases:
    """Claims jobs, prolongs leases and ends attempts for workers elsewhere."""

    def __init__(self, store: Store) -> None:
        self.arrivals = Arrivals(store)
        self._store = store
        self._turn = asyncio.Lock()
        self._vain: tuple[int, set[tuple[Line, ...]]] = (0, set())
        self._introduced: dict[str, tuple[WorkerInfo, float, bool]] = {}
        self._undoing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End every wait; claims whose caller is gone are given back first."""
        await self.arrivals.close()
        if self._undoing:
            await asyncio.wait(self._undoing)

    async def introduce(self, worker: WorkerInfo) -> bool:
        """Put a worker on record from time to time; returns whether an operator drains it."""
        known, at, drains = self._introduced.get(worker.id, (worker, -INTRODUCED_FOR, False))
        # It asks for as many jobs as it has room for now: the most it ever asked for are its slots.
        worker = replace(worker, slots=max(worker.slots, known.slots))
        if known == worker and monotonic() - at < INTRODUCED_FOR:
            return drains
        if worker.id not in self._introduced:
            await self._require_room(worker.id)
        await self._store.enlist(worker)
        # The heartbeat also removes the lease rows of what the worker has settled.
        beat = await self._store.heartbeat(Pulse(worker=worker.id, leases=()))
        if len(self._introduced) >= _MOST_INTRODUCED:
            self._introduced.clear()
        self._introduced[worker.id] = worker, monotonic(), beat.drain
        return beat.drain

    async def _require_room(self, worker: str) -> None:
        """Raise InvalidInput for a new name of an owner that has too many: each is kept for a day."""
        owner = worker.rpartition("@")[2]
        names = {known.worker.id for known in await self._store.workers()}
        if worker not in names and sum(name.endswith(f"@{owner}") for name in names) >= MOST_NAMES:
            raise InvalidInput(
                "workerId",
                f"is new, and this key has {MOST_NAMES:,} workers on the list already",
                "use a known name, or remove one: DELETE /v1/workers/{workerId}",
            )

    async def dismiss(self, worker: str) -> None:
        """Forget a worker that has ended. This changes only what is shown."""
        self._introduced.pop(worker, None)
        await self._store.dismiss(worker)

    async def take(self, order: Order) -> list[RemoteClaim]:
        """Claim up to `order.limit` jobs. If the caller is cancelled, all of them are given back."""
        taking = asyncio.ensure_future(self._take(order))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._give_back_soon(order.worker, taking)
            raise

    async def take_again(self, order: Order) -> list[RemoteClaim]:
        """As `take`, for one of many that the same news woke: where one found nothing, no other looks."""
        async with self._turn:
            news, vain = self._vain
            if news != self.arrivals.news:
                vain = set()
                self._vain = self.arrivals.news, vain
            if order.lines in vain:
                return []
            taken = await self.take(order)
            if not taken:
                vain.add(order.lines)
            return taken

    def drop(self, worker: str, taken: list[RemoteClaim]) -> None:
        """Give back, in the background, claims that did not reach their worker."""
        done: asyncio.Future[list[RemoteClaim]] = asyncio.get_running_loop().create_future()
        done.set_result(taken)
        self._give_back_soon(worker, done)

    async def keep(
        self,
        held: RemoteLease,
        lease_for: timedelta,
        progress: Progress | None = None,
        lines: Sequence[SentLine] = (),
    ) -> ProlongedLease | None:
        """Prolong a lease and record what came with it; None, and nothing recorded, if it does not hold."""
        job = await self._get(held)
        now = await self._store.now()
        # A later answer never shortens what an earlier one promised.
        until = max(min(now + lease_for, _latest(job)), job.lease_expires_at or now)
        left = min(until - now, LEASE_LENGTH[1])
        if not _is_owner(held, job) or left < LEASE_LENGTH[0]:
            return None
        pulse = Pulse(
            worker=held.worker,
            leases=[held.lease],
            lease_for=left,
            progress={} if progress is None else {held.lease: progress},
        )
        beat = await self._store.heartbeat(pulse)
        if held.lease not in beat.kept:
            return None
        if lines:
            logged = tuple(LogLine(line.n, now, line.level, line.text) for line in lines)
            await self._store.record(held.worker, [Trail(held.lease, logged)])
        stop: Stop | None = "timed-out" if _is_late(job, now) else None
        return ProlongedLease(
            now + left, left, "cancelled" if held.lease in beat.cancelling else stop, beat.drain
        )

    async def end(self, held: RemoteLease, end: AttemptEnd) -> ReportAnswer | None:
        """Settle an attempt; None if the lease does not hold and did not end the attempt this way before."""
        job = await self._get(held)
        endings = _SUCCEEDED if isinstance(end, Returned) else _FAILED
        if not _is_owner(held, job):
            return await self._ended(held, endings)
        is_late = _is_late(job, await self._store.now())
        outcome = decide(
            TimedOut(job.policy.timeout) if is_late else end, job.attempt, job.policy.retry, random.random
        )
        order = Order(worker=held.worker, lines=(), limit=0)
        answer = await self._store.settle_and_claim([Report(held.lease, outcome)], order)
        state = answer.settled.accepted.get(held.lease)
        return await self._ended(held, endings) if state is None else ReportAnswer(state, is_late)

    async def release(self, held: RemoteLease, *, has_started: bool) -> ReportAnswer | None:
        """Hand a job back; None if the lease does not hold and did not hand it back before."""
        job = await self._get(held)
        if not _is_owner(held, job):
            return await self._ended(held, _RETURNED)
        if job.state is State.CANCELLING or _is_late(job, await self._store.now()):
            return await self.end(held, WasStopped())
        own = [held.lease]
        answer = await self._store.hand_back(
            held.worker, unstarted=[] if has_started else own, killed=own if has_started else []
        )
        state = answer.accepted.get(held.lease)
        return await self._ended(held, _RETURNED) if state is None else ReportAnswer(state)

    async def suspend(self, held: RemoteLease, wait: Wait) -> ReportAnswer | None:
        """Let a job wait; None if the lease does not hold and did not suspend it before.

        One that was asked to stop, or has run too long, ends instead.
        """
        job = await self._get(held)
        if not _is_owner(held, job):
            return await self._ended(held, _SUSPENDED)
        if job.state is State.CANCELLING or _is_late(job, await self._store.now()):
            return await self.end(held, WasStopped())
        standings = await self._store.suspend(held.worker, [Suspension(held.lease, wait)])
        state = standings.get(held.lease)
        return await self._ended(held, _SUSPENDED) if state is None else ReportAnswer(state)

    async def _take(self, order: Order) -> list[RemoteClaim]:
        taken: list[RemoteClaim] = []
        single = replace(order, limit=1)
        try:
            while len(taken) < order.limit:
                try:
                    answer = await self._store.settle_and_claim([], single)
                except JobsAside:
                    continue
                if not answer.claimed:
                    break
                [claimed] = answer.claimed
                taken.append(await self._bounded(claimed, order))
        except StoreError:
            if not taken:
                raise
        return taken

    async def _bounded(self, claimed: Claimed, order: Order) -> RemoteClaim:
        """The job, with a lease no longer than its time-out and grace."""
        most = claimed.policy.timeout + claimed.policy.grace
        if most < order.lease_for:
            pulse = Pulse(worker=order.worker, leases=[claimed.lease], lease_for=most)
            with suppress(StoreError):  # the lease is longer than necessary, but valid
                await self._store.heartbeat(pulse)
        return RemoteClaim(claimed, claimed.started_at + min(most, order.lease_for))

    def _give_back_soon(self, worker: str, taking: "asyncio.Future[list[RemoteClaim]]") -> None:
        task = asyncio.create_task(self._give_back(worker, taking), name="tenure-leases-given-back")
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)

    async def _give_back(self, worker: str, taking: "asyncio.Future[list[RemoteClaim]]") -> None:
        with suppress(StoreError):  # what stays claimed is reaped when its lease has run out
            if leases := [claim.claimed.lease for claim in await taking]:
                await self._store.hand_back(worker, unstarted=leases, killed=[])

    async def _get(self, held: RemoteLease) -> Job:
        job = await self._store.get(held.lease.job)
        if job is None:
            raise JobNotFound(held.lease.job)
        if job.state.is_owned and job.worker is None and job.fence == held.lease.fence:
            # The row of the lease is gone: all that this worker can report is that.
            await self._store.strand(held.worker, [held.lease])
        return job

    async def _ended(self, held: RemoteLease, endings: Collection[Ending]) -> ReportAnswer | None:
        """The state of a job whose attempt this very lease has ended, in one of these ways.

        A worker that lost our answer and asks again must not learn that its lease is lost.
        """
        fence = held.lease.fence
        for attempt in await self._store.attempts(held.lease.job, after=fence - 1, limit=1):
            if attempt.fence == fence and attempt.worker == held.worker and attempt.ending in endings:
                return ReportAnswer((await self._get(held)).state)
        return None


def _is_owner(held: RemoteLease, job: Job) -> bool:
    return job.state.is_owned and (job.worker, job.fence) == (held.worker, held.lease.fence)


def _is_late(job: Job, now: datetime) -> bool:
    return job.started_at is not None and now >= job.started_at + job.policy.timeout


def _latest(job: Job) -> datetime:
    """The latest time until which a job may be held."""
    over = (job.started_at or job.updated_at) + job.policy.timeout
    return min(over, job.cancel_requested_at or over) + job.policy.grace
