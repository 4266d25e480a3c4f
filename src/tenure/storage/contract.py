"""The storage contract: what both stores promise, verb by verb.

Every verb that moves jobs is conditional: it names the state it expects and, where there is an owner, the
fence; its answer says which jobs moved. What can be expected (a lost lease, a finished job, an unknown id) is
a return value; outages and bugs are exceptions of `tenure.core.errors`, never a driver's. Time is the store's
alone: no verb takes the present from its caller. Every step commits together with its event, and an attempt's
end with its attempt row. Every verb may run on all nodes at once.

The contract suite in tests/storage/contract, one file a verb, is the definition of this protocol.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from tenure.core.job import Enqueued, Event, Job, Moved, NewJob, Standing
from tenure.core.lease import Beat, Lease, Order, Pulse
from tenure.core.outcome import Attempt, Report, Round, Settled


class Store(Protocol):
    """A place that keeps jobs."""

    async def open(self) -> None:
        """Connect. Raises StoreUnavailable when the database cannot be reached."""

    async def close(self) -> None:
        """Finish what was handed in and disconnect. Closing twice is harmless."""

    async def migrate(self) -> list[str]:
        """Bring the schema up to this code's; answers with the migrations applied, none when up to date.

        Several at once are safe: they take turns, and each migration is applied by exactly one of them. A
        schema newer than the code is refused with SchemaMismatch.
        """

    async def verify(self) -> None:
        """Raise SchemaMismatch unless all migrations are applied and the guards are the table of steps."""

    async def now(self) -> datetime:
        """The store's time: the only time that counts."""

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Record jobs, all or none; answers in their order. At most 10,000 a call, else InvalidInput.

        A job is born `created` with `hold`, `scheduled` with a time ahead, `queued` otherwise. (namespace,
        scope, key) is unique for as long as the row lives: a second request answers with the first job,
        whatever became of it, and changes nothing; so does an id that is already taken. A delay counts from
        now, for a held job too. When the answer comes, the jobs are durable.
        StoreBusy when another open transaction holds one of the keys; only this call fails then.
        """

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
        """Let held jobs go: `created` to `scheduled` or `queued`. Jobs in other states are left as they are.

        One answer for each job that exists, in the order asked; an id asked twice is answered twice.
        """

    async def cancel(
        self, ids: Sequence[UUID], *, actor: str = "api", reason: str | None = None
    ) -> list[Standing]:
        """Cancel jobs: unowned ones are `cancelled` at once, running ones become `cancelling`.

        Cancelling and finished jobs are left as they are. One answer for each job that exists, in the order
        asked.
        """

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        """Mark `retrying` jobs as given up; the next `promote` moves them to `failed`.

        `moved` says whether the mark was set by this call; the state is still `retrying` then. One answer for
        each job that exists, in the order asked.
        """

    async def get(self, job: UUID) -> Job | None:
        """The job as last committed, or None."""

    async def events(self, job: UUID) -> list[Event]:
        """The history of one job from its creation on, by n; empty for an unknown job."""

    async def attempts(self, job: UUID) -> list[Attempt]:
        """The starts of one job by fence, the current one included; empty for an unknown job."""

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> Round:
        """Record how attempts ended and claim the next jobs, in one transaction.

        A report counts only while its job is owned under exactly that fence by `order.worker`'s lease and the
        lease has not run out; otherwise it is `lost` and leaves no trace. It leads to

        - Succeeded: `succeeded`, from `cancelling` too;
        - Recoverable: `retrying` until the backoff is over; `failed` when attempts are used up; `cancelled`
          when the job was cancelling;
        - Unrecoverable: `failed`, from `cancelling` too;
        - Stopped: `cancelled`; lost when nobody had asked to stop;
        - Suspended: `suspended` with the attempt refunded; `cancelled` when the job was cancelling; `failed`
          after 10,000 suspensions.

        Then up to `order.limit` queued jobs of `order.lines` become `running` under a fresh fence, one more
        attempt each: higher priority first, then in the order they were queued; equal priorities of several
        lines take turns. Locked rows are skipped, never waited for. An order with limit 0 claims nothing.
        While jobs are plenty, what another process has put in line is seen within a second.
        """

    async def heartbeat(self, pulse: Pulse) -> Beat:
        """Prolong the leases a worker still holds, and write progress under them.

        A lease that has run out is not revived, even if nobody has reaped it yet. A lease of another worker,
        or of a job that is no longer owned under that fence, is lost. Jobs claimed together share one lease
        row: prolonging one of them prolongs all.
        """

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        """Give jobs back: those not started, and those killed at the shutdown deadline.

        Back to `queued` with the attempt refunded; after 20 hand-backs the attempt is charged, and the job
        `failed` when none is left. Killed ones that must not run twice are `buried`. Cancelling ones are
        `cancelled`. Counts only while the lease holds; the rest is lost.
        """

    async def promote(self, limit: int) -> list[Moved]:
        """Take up to `limit` due steps of the clock, earliest due first.

        `scheduled`, `retrying` and `suspended` to `queued`, given-up ones to `failed`. Rows locked by others
        are skipped.
        """

    async def reap(self, limit: int) -> list[Moved]:
        """Take the jobs of up to `limit` leases that have run out from their owners.

        `cancelled` when cancelling; `buried` when the job must not run twice; `failed` when attempts are used
        up; `queued` otherwise, as `orphaned`. Each by its fence, so that a job claimed anew is left alone.
        """
