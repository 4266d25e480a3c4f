"""Removes what is kept no longer: a walk over log lines, over finished jobs, and over the audit log.

What is set is read anew before each step. A walk may take hours, since it gives way to other work, and an
operator who has just asked to keep jobs longer must not lose them to a walk that began earlier.
"""

from collections import Counter
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tenure.core.model.states import State
from tenure.core.reports.access import AUDIT_KEPT
from tenure.core.reports.retention import PruneScope, RetentionPolicy
from tenure.storage.contract.store import Store

LARGEST_STEP = 1_000
Phase = Literal["logs", "jobs"]
"""Log lines go first: so a dry run, which leaves the jobs there, counts as many as a walk removes."""


class Removed(Struct, frozen=True):
    """What a walk has removed, or with `dry` would remove: jobs by definition and state, and log lines."""

    counts: dict[tuple[str, State], int]
    log_lines: int

    @property
    def jobs(self) -> int:
        """How many jobs there are in all."""
        return sum(self.counts.values())


class RetentionWalk:
    """One walk after the other, a step at a time."""

    def __init__(
        self,
        store: Store,
        *,
        definition: str | None = None,
        dry: bool = False,
        policy: RetentionPolicy | None = None,
    ) -> None:
        """With a `definition`, jobs of others stay. With `dry`, all is only counted.

        `policy` is to be gone by instead of what is set, which a dry run may ask for.
        """
        self._policy = policy
        self._store = store
        self._definition = definition
        self._dry = dry
        self._after: UUID | None = None
        self._phase: Phase | None = None
        self._counts: Counter[tuple[str, State]] = Counter()
        self._log_lines = 0

    @property
    def is_between_walks(self) -> bool:
        """Whether the next step begins a walk."""
        return self._phase is None

    @property
    def removed(self) -> Removed:
        """What was removed so far."""
        return Removed(dict(self._counts), self._log_lines)

    async def step(self, *, by_age: bool) -> bool:
        """Take one step, of a thousand jobs at most; returns whether it was the last of its walk.

        With `by_age`, jobs that are too young by the time in their ids are not read.
        """
        policy = self._policy or await self._store.retention()
        if self._phase is None:
            has_log_times = any(one.logs is not None for one in (policy.for_all, *policy.own.values()))
            self._phase = "logs" if has_log_times else "jobs"
        if self._phase == "logs":
            await self._prune_logs(policy, by_age=by_age)
            self._phase = "jobs" if self._after is None else "logs"
        else:
            await self._prune_jobs(policy, by_age=by_age)
            self._phase = None if self._after is None else "jobs"
        return self._phase is None

    async def _prune_logs(self, policy: RetentionPolicy, *, by_age: bool) -> None:
        pruned = await self._store.prune_logs(
            policy.for_all,
            own=policy.own,
            definition=self._definition,
            after=self._after,
            limit=LARGEST_STEP,
            by_age=by_age,
            dry=self._dry,
        )
        self._log_lines += pruned.lines
        self._after = pruned.next

    async def _prune_jobs(self, policy: RetentionPolicy, *, by_age: bool) -> None:
        pruned = await self._store.prune(
            policy.for_all,
            own=policy.own,
            scope=PruneScope(definition=self._definition),
            after=self._after,
            limit=LARGEST_STEP,
            by_age=by_age,
            dry=self._dry,
        )
        self._counts.update(pruned.counts)
        self._after = pruned.next

    async def walk(self) -> Removed:
        """Walk over all jobs once, without rests."""
        while not await self.step(by_age=False):
            pass
        return self.removed

    async def prune_audit(self) -> None:
        """Remove entries of the audit log that are too old."""
        await self._store.prune_audit_entries(AUDIT_KEPT, LARGEST_STEP)
