"""Leases for workers that are not processes of Tenure: they claim, keep and end attempts by asking.

Every job has a lease row of its own here, so that each is kept, bounded and lost by itself: jobs that are
claimed together would share one, and keeping one of them would keep all.

Nobody stands beside such an attempt to stop it. What bounds it is its lease, which is never prolonged beyond
the grace that follows the job's time-out, or the request to stop. Within the grace the worker is told to
stop; whoever does not is taken for lost.
"""

import asyncio
import random
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from time import monotonic
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.bounds import LEASE_LENGTH
from tenure.core.errors import InvalidInput, JobNotFound, JobsAside, StoreError
from tenure.core.job import Job
from tenure.core.lease import Claimed, Lease, Line, Order, Progress, Pulse
from tenure.core.operations import Worker
from tenure.core.outcome import Ending, Report
from tenure.core.retry import AttemptEnd, Returned, TimedOut, WasStopped, decide
from tenure.core.states import State
from tenure.core.trail import LogLine, Trail
from tenure.engine.arrivals import Arrivals
from tenure.storage.contract import Store

INTRODUCED_FOR = 10.0
"""Seconds after which a worker that comes again is put on record again, and asked about."""

MOST_NAMES = 1000
"""Workers that one key may have on the list at once."""

_MOST_INTRODUCED = 10_000
_SUCCEEDED = frozenset({Ending.SUCCEEDED})
_FAILED = frozenset({Ending.RECOVERABLE, Ending.UNRECOVERABLE, Ending.STOPPED})
_RETURNED = frozenset({Ending.HANDED_BACK, Ending.KILLED, Ending.STOPPED})


Stop = Literal["cancelled", "timed-out"]


class Held(Struct, frozen=True):
    """Who claims to own an attempt, and by which lease."""

    worker: str
    lease: Lease


class Taken(Struct, frozen=True):
    """A job that was claimed, and until when it is held unless the lease is prolonged."""

    claimed: Claimed
    expires_at: datetime

    @property
    def lease_for(self) -> timedelta:
        """For how long it was claimed."""
        return self.expires_at - self.claimed.started_at

    @property
    def deadline(self) -> datetime:
        """When the attempt must have ended."""
        return self.claimed.started_at + self.claimed.policy.timeout


class Kept(Struct, frozen=True):
    """A lease that still holds, until when and for how long, and why the attempt is to stop if it is."""

    expires_at: datetime
    lease_for: timedelta
    stop: Stop | None
    drain: bool


class Said(NamedTuple):
    """A line of what an attempt says; `n` counts from 1, so that it may be sent again."""

    n: int
    level: str
    text: str


class Told(Struct, frozen=True):
    """What became of a report: the state it led to; `is_late` when the attempt was ended as timed out."""

    state: State
    is_late: bool = False


class Leasing:
    """Claims and keeps jobs, and ends attempts, for workers elsewhere."""

    def __init__(self, store: Store) -> None:
        self.arrivals = Arrivals(store)
        self._store = store
        self._turn = asyncio.Lock()
        self._vain: tuple[int, set[tuple[Line, ...]]] = (0, set())
        self._introduced: dict[str, tuple[Worker, float, bool]] = {}
        self._undoing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End every wait; what was claimed for nobody is given back first."""
        await self.arrivals.close()
        if self._undoing:
            await asyncio.wait(self._undoing)

    async def introduce(self, worker: Worker) -> bool:
        """Put a worker on record, now and then; whether an operator wants it to claim no more."""
        known, at, drains = self._introduced.get(worker.id, (worker, -INTRODUCED_FOR, False))
        # It asks for as many jobs as it has room for just then: the most it ever asked for are its slots.
        worker = replace(worker, slots=max(worker.slots, known.slots))
        if known == worker and monotonic() - at < INTRODUCED_FOR:
            return drains
        if worker.id not in self._introduced:
            await self._require_room(worker.id)
        await self._store.enlist(worker)
        # It also sweeps the lease rows of what the worker has settled.
        beat = await self._store.heartbeat(Pulse(worker=worker.id, leases=()))
        if len(self._introduced) >= _MOST_INTRODUCED:
            self._introduced.clear()
        self._introduced[worker.id] = worker, monotonic(), beat.drain
        return beat.drain

    async def _require_room(self, worker: str) -> None:
        """Raise InvalidInput for a new name of an owner who has too many: each is kept for a day."""
        owner = worker.rpartition("@")[2]
        names = {known.worker.id for known in await self._store.workers()}
        if worker not in names and sum(name.endswith(f"@{owner}") for name in names) >= MOST_NAMES:
            raise InvalidInput(
                "workerId",
                f"is new, and this key has {MOST_NAMES:,} workers on the list already",
                "use a name again, or say goodbye with one: DELETE /v1/workers/{workerId}",
            )

    async def dismiss(self, worker: str) -> None:
        """Forget a worker that says it has ended. Only what is shown rests on it, as with the others."""
        self._introduced.pop(worker, None)
        await self._store.dismiss(worker)

    async def take(self, order: Order) -> list[Taken]:
        """Claim up to `order.limit` jobs. Whoever is cancelled meanwhile leaves none of them behind."""
        taking = asyncio.ensure_future(self._taken(order))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._return(order.worker, taking)
            raise

    async def take_again(self, order: Order) -> list[Taken]:
        """As `take`, for one of many who were woken by the same news: where one found nothing, none looks."""
        async with self._turn:
            told, vain = self._vain
            if told != self.arrivals.news:
                vain = set()
                self._vain = self.arrivals.news, vain
            if order.lines in vain:
                return []
            taken = await self.take(order)
            if not taken:
                vain.add(order.lines)
            return taken

    def drop(self, worker: str, taken: list[Taken]) -> None:
        """Give back, in a moment, what nobody has heard of."""
        done: asyncio.Future[list[Taken]] = asyncio.get_running_loop().create_future()
        done.set_result(taken)
        self._return(worker, done)

    async def keep(
        self,
        held: Held,
        lease_for: timedelta,
        progress: Progress | None = None,
        said: Sequence[Said] = (),
    ) -> Kept | None:
        """Prolong a lease and write down what came with it; None, and nothing is, when it does not hold."""
        job = await self._get(held)
        now = await self._store.now()
        # Whoever was told how long it holds is never told of less.
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
        if said:
            lines = tuple(LogLine(one.n, now, one.level, one.text) for one in said)
            await self._store.record(held.worker, [Trail(held.lease, lines)])
        stop: Stop | None = "timed-out" if _is_late(job, now) else None
        return Kept(now + left, left, "cancelled" if held.lease in beat.cancelling else stop, beat.drain)

    async def end(self, held: Held, end: AttemptEnd) -> Told | None:
        """Report how an attempt ended; None when the lease does not hold and it did not end so by it."""
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
        return await self._ended(held, endings) if state is None else Told(state, is_late)

    async def release(self, held: Held, *, has_started: bool) -> Told | None:
        """Give a job back; None when the lease does not hold and it was not given back by it."""
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
        return await self._ended(held, _RETURNED) if state is None else Told(state)

    async def _taken(self, order: Order) -> list[Taken]:
        taken: list[Taken] = []
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

    async def _bounded(self, claimed: Claimed, order: Order) -> Taken:
        """The job, held for no longer than it may take."""
        most = claimed.policy.timeout + claimed.policy.grace
        if most < order.lease_for:
            pulse = Pulse(worker=order.worker, leases=[claimed.lease], lease_for=most)
            with suppress(StoreError):  # it is held longer than it need be, and is ours all the same
                await self._store.heartbeat(pulse)
        return Taken(claimed, claimed.started_at + min(most, order.lease_for))

    def _return(self, worker: str, taking: "asyncio.Future[list[Taken]]") -> None:
        task = asyncio.create_task(self._returned(worker, taking), name="tenure-leases-given-back")
        self._undoing.add(task)
        task.add_done_callback(self._undoing.discard)

    async def _returned(self, worker: str, taking: "asyncio.Future[list[Taken]]") -> None:
        with suppress(StoreError):  # whatever stays claimed then is reaped when its lease has run out
            if leases := [one.claimed.lease for one in await taking]:
                await self._store.hand_back(worker, unstarted=leases, killed=[])

    async def _get(self, held: Held) -> Job:
        job = await self._store.get(held.lease.job)
        if job is None:
            raise JobNotFound(held.lease.job)
        if job.state.is_owned and job.worker is None and job.fence == held.lease.fence:
            # The row of the lease is gone. What this worker says is nobody's word then: only that it is so.
            await self._store.strand(held.worker, [held.lease])
        return job

    async def _ended(self, held: Held, endings: Collection[Ending]) -> Told | None:
        """Where a job stands now whose attempt has ended by this very lease, in one of these ways.

        Somebody whose answer was lost asks again, and is not told that the lease is lost.
        """
        fence = held.lease.fence
        for attempt in await self._store.attempts(held.lease.job, after=fence - 1, limit=1):
            if attempt.fence == fence and attempt.worker == held.worker and attempt.ending in endings:
                return Told((await self._get(held)).state)
        return None


def _is_owner(held: Held, job: Job) -> bool:
    return job.state.is_owned and (job.worker, job.fence) == (held.worker, held.lease.fence)


def _is_late(job: Job, now: datetime) -> bool:
    return job.started_at is not None and now >= job.started_at + job.policy.timeout


def _latest(job: Job) -> datetime:
    """Until when a job may be held at most."""
    over = (job.started_at or job.updated_at) + job.policy.timeout
    return min(over, job.cancel_requested_at or over) + job.policy.grace
