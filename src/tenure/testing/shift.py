"""One drain or advance of a harness: promotes, reaps, fires, claims, runs and settles until all is done."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf

from tenure.core.errors import TenureError
from tenure.core.model.durable import Suspension, wait_asked
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Claimed, Lease, Line, Order, Pulse
from tenure.core.model.outcome import Outcome, Report
from tenure.core.model.retry import Raised, WaitAsked, decide
from tenure.core.reports.reading import Outlook
from tenure.core.signals import AttemptSettled, Signal
from tenure.engine.client.quota import Quota
from tenure.engine.config import LeaseDeadlines, WorkerConfig
from tenure.engine.durable.progress_keeper import ProgressKeeper
from tenure.engine.schedules.firer import Firer
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.worker.children import enqueue_children
from tenure.engine.worker.held_attempt import HeldAttempt, StoreCalls
from tenure.engine.worker.hooks import Hooks
from tenure.engine.worker.in_flight import Specs, assignment
from tenure.engine.worker.log_batches import log_batches
from tenure.execution.parent.attempt_terms import AttemptTerms, Interrupted, Unstarted
from tenure.testing.bound_runtime import HarnessStore
from tenure.testing.inline_lane import InlineLane
from tenure.testing.stand_ins import StandIns

MOST_ROUNDS = 10_000
"""Rounds after which jobs that are ready again and again count as endless."""

_AT_ONCE = 1_000
_NO_DEADLINES = LeaseDeadlines(inf, inf)


class Endless(TenureError):
    """Jobs are ready again and again: to drain them would never end."""


class Shift:
    """Works on the loop of the store until it is done."""

    def __init__(
        self,
        at: HarnessStore,
        lane: InlineLane,
        hooks: Hooks,
        specs: Specs,
        config: WorkerConfig,
        held: dict[Lease, HeldAttempt],
        stand_ins: StandIns,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`held` names the attempts that run, for whatever asks them to stop."""
        keeper = ProgressKeeper(at.store, config.worker, tasks)
        self._calls = StoreCalls(self._spawn, keeper.answer)
        self._store = at.store
        self._client = at.client
        self._firer = Firer(at.store, JobMaker(at.client, Quota(at.store, 0)), _unheard)
        self._lane = lane
        self._hooks = hooks
        self._specs = specs
        self._config = config
        self._held = held
        self._stand_ins = stand_ins
        self._attempts: Counter[str] = Counter()

    async def drain(self, rounds: int = MOST_ROUNDS) -> int:
        """Run jobs until none is ready; returns how many attempts the shift took so far."""
        before = self._attempts.copy()
        for _ in range(rounds):
            lines = await self._lines()
            has_moved = await self._take_due_steps(lines)
            claimed = await self._claim(lines)
            await asyncio.gather(*map(self._run, claimed))
            await self._hooks.idle.wait()
            if not claimed and not has_moved:
                return self._attempts.total()
        why = "does it enqueue itself, or retry or snooze without a delay?"
        raise _endless(rounds, self._attempts - before, why)

    async def advance(self, by: timedelta) -> int:
        """Go to each time at which something is due, and at last to the end; drain each time."""
        end = await self._store.now() + by
        await self.drain()
        for _ in range(MOST_ROUNDS):
            outlook = await self._store.outlook(await self._lines())
            due = min((at for at in _due_times(outlook) if at > outlook.now), default=end)
            await self._store.move_clock(min(due, end))
            await self.drain()
            if due >= end:
                return self._attempts.total()
        why = "if it is a schedule or a delay that comes that often, advance by less at a time"
        raise _endless(MOST_ROUNDS, self._attempts, why)

    async def _lines(self) -> list[Line]:
        """The lines of the app's definitions, in whatever queues they are."""
        known = [status.line for status in await self._store.lines()]
        return [line for line in known if (line.definition, line.version) in self._specs]

    async def _take_due_steps(self, lines: Sequence[Line]) -> bool:
        """Promote, reap, fire schedules, and run hooks that are owed; returns whether anything was done."""
        outlook = await self._store.outlook(lines)
        moved = 0
        if outlook.next_tick is not None and outlook.next_tick <= outlook.now:
            moved += await self._firer.fire_due()
        if outlook.next_timer is not None and outlook.next_timer <= outlook.now:
            moved += len(await self._store.promote(_AT_ONCE))
        if outlook.next_expiry is not None and outlook.next_expiry <= outlook.now:
            moved += len(await self._store.reap(_AT_ONCE))
        if outlook.owed:
            await self._hooks.follow_up(lines)
        return bool(moved) or outlook.owed

    async def _claim(self, lines: Sequence[Line]) -> Sequence[Claimed]:
        order = self._order(lines, self._config.slots)
        claimed = (await self._store.settle_and_claim([], order)).claimed
        try:
            for one in claimed:
                self._stand_ins.refuse_program(self._specs[one.definition, one.version])
        except TenureError:
            await self._store.hand_back(
                self._config.worker, unstarted=[one.lease for one in claimed], killed=[]
            )
            raise
        return claimed

    async def _run(self, claimed: Claimed) -> None:
        """Run one attempt to its end, and settle it."""
        self._attempts[f"{claimed.definition}@{claimed.version}"] += 1
        held = self._held[claimed.lease] = HeldAttempt(claimed, _NO_DEADLINES, self._calls, _unheard)
        policy, spec = claimed.policy, self._specs[claimed.definition, claimed.version]
        ended = await self._lane.run(
            assignment(claimed, spec, self._config.limits),
            AttemptTerms(policy.timeout, policy.grace, held.stop, held),
        )
        del self._held[claimed.lease]
        match ended.end:
            case None | Unstarted() | Interrupted():  # its lease is lost: nothing of it counts
                return
            case Raised(asked=WaitAsked() as asked):
                await self._save_trail(held)
                suspension = Suspension(held.lease, wait_asked(asked))
                await self._store.suspend(self._config.worker, [suspension])
            case end:
                # Without jitter: a test knows to the second when the next attempt is due.
                await self._settle(held, decide(end, claimed.attempt, policy.retry, lambda: 0.0))

    async def _save_trail(self, held: HeldAttempt) -> None:
        """Put on record what an attempt has said."""
        for batch in log_batches([held.take_trail()] if held.has_output else []):
            await self._store.record(self._config.worker, batch)
        if (progress := held.unsent_progress) is not None:
            await self._store.heartbeat(
                Pulse(
                    worker=self._config.worker,
                    leases=[held.lease],
                    lease_for=self._config.lease_for,
                    progress={held.lease: progress},
                )
            )

    async def _settle(self, held: HeldAttempt, outcome: Outcome) -> None:
        await self._save_trail(held)
        report = Report(held.lease, outcome)
        answer = await self._store.settle_and_claim([report], self._order((), 0))
        if (state := answer.settled.accepted.get(held.lease)) is not None:
            self._hooks.on_settled(AttemptSettled(held.claimed, report, state, 0.0, 0.0))

    async def _spawn(self, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await enqueue_children(self._store, self._client, self._config.worker, lease, jobs)

    def _order(self, lines: Sequence[Line], limit: int) -> Order:
        return Order(
            worker=self._config.worker, lines=tuple(lines), limit=limit, lease_for=self._config.lease_for
        )


def _due_times(outlook: Outlook) -> list[datetime]:
    times = (outlook.next_timer, outlook.next_expiry, outlook.next_resume, outlook.next_tick)
    return [at for at in times if at is not None]


def _endless(rounds: int, attempts: Counter[str], why: str) -> Endless:
    most = attempts.most_common(1)
    which = f"{most[0][0]} goes on, with {most[0][1]:,} attempts" if most else "no attempt was made"
    return Endless(f"after {rounds:,} rounds there is still something to do: {which}; {why}")


def _unheard(_: Signal) -> None:
    """A test reads the store instead."""
