"""Claims of jobs that messages have named, over all slot groups of a worker."""

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from tenure.core.model.claim_by_id import Unclaimed, WhyUnclaimed
from tenure.core.model.lease import Claimed
from tenure.core.signals import Announce, Signal
from tenure.engine.upkeep.loop import Loop
from tenure.engine.worker.claimer import Claimer


class NamedAnswer(Struct, frozen=True):
    """What became of the jobs named; `waiting` are those for which their slot group has no room yet."""

    claimed: Sequence[Claimed]
    left: dict[UUID, Unclaimed]
    waiting: Sequence[UUID]


class NamedClaims:
    """Claims by id, for the receivers of messages."""

    def __init__(self, claimers: Sequence[Claimer]) -> None:
        self._claimers = claimers

    @property
    def room(self) -> int:
        """How many more jobs may be claimed; 0 once the worker claims no more."""
        return sum(max(0, claimer.pool.room) for claimer in self._claimers)

    def sweep_alone(self, *, is_blind: bool) -> None:
        """Claim by sweeps alone, as messages cannot be received, or no longer."""
        for claimer in self._claimers:
            claimer.sweep_alone(is_blind=is_blind)

    async def claim(self, ids: Sequence[UUID], on_claimed: Callable[[Claimed], None]) -> NamedAnswer:
        """Claim these jobs, each for the slot group that serves it.

        `on_claimed` runs for each before anything can be announced of its attempt.
        """
        claimed: list[Claimed] = []
        left: dict[UUID, Unclaimed] = {}
        waiting: set[UUID] = set()
        rest = list(ids)
        for claimer in self._claimers:
            room = max(0, claimer.pool.room)
            waiting |= set(rest[room:])
            if asked := rest[:room]:
                answer = await claimer.claim_these(asked)
                for one in answer.claimed:
                    on_claimed(one)
                claimed += answer.claimed
                left |= answer.left
                # Another group may serve these.
                unserved = [job for job, left_there in answer.left.items() if _is_unserved(left_there)]
                taken = set(asked) - set(unserved)
                rest = [job for job in rest if job not in taken]
        claimed_jobs = {one.lease.job for one in claimed}
        told = {job for job, one in left.items() if not _is_unserved(one)}
        waiting -= claimed_jobs | told
        left = {job: one for job, one in left.items() if job not in claimed_jobs | waiting}
        return NamedAnswer(claimed, left, sorted(waiting))


def _is_unserved(one: Unclaimed) -> bool:
    return one.why is WhyUnclaimed.UNSERVED


class Triggers(Protocol):
    """What leads a worker to jobs: it receives messages, and hears what becomes of the jobs they named."""

    def loops(self, claims: NamedClaims, on_signal: Announce) -> Sequence[Loop]:
        """The loops that receive, to be run beside the worker's own."""

    def on_signal(self, signal: Signal) -> None:
        """Hear what the worker announces."""

    async def finish(self) -> None:
        """Tell the sender of the messages what became of the last jobs, before the worker ends."""
