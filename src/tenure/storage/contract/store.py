"""The storage contract: what both stores promise, verb by verb.

A job's row is immutable: it is written once, by the verb that records the job, and holds the request. The
same is true of events, ended attempts, log lines and results. All that changes about a job (state, fence,
attempts, times, progress) is in its row of `job_state`. Guards in the database refuse any other change; only
`prune` deletes. So a verb that is to change something about a job needs a column in `job_state`.

Every verb that moves jobs is conditional: it names the state it expects and, if there is an owner, the fence;
its answer says which jobs moved. Expected refusals (a lost lease, a finished job, an unknown id) are return
values; outages and bugs are exceptions of `tenure.core.errors`, never a driver's. Time is the store's alone:
no verb takes the present time from its caller. Every step commits together with its event, and an attempt's
end with its attempt row. Every verb may run on all nodes at once.

A batch must not fail for one bad row: if `settle_and_claim`, `hand_back`, `promote` or `reap` meets jobs that
the database refuses to move, for a reason in the data, it puts them aside (`tenure.storage.mapping.aside`)
and raises JobsAside: nothing else was written, and the same call succeeds without them.

The contract suite in tests/storage/contract, one file a verb, is the definition of this protocol.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from tenure.core.model.job import Enqueued, JobStanding, KeysTaken, NewJob, StepTaken
from tenure.core.model.lease import Beat, Lease, Line, Order, Presence, Pulse
from tenure.core.model.outcome import Report, Settled
from tenure.core.model.states import UNFINISHED, State
from tenure.core.model.trail import LogLine, Note, Recorded, Trail
from tenure.core.model.turn import TurnResult
from tenure.core.reports.operations import Replayed
from tenure.core.reports.reading import Outlook
from tenure.core.values.documents import Document
from tenure.storage.contract.access import AccessStore
from tenure.storage.contract.aside import AsideStore
from tenure.storage.contract.claims_by_id import ClaimsByIdStore
from tenure.storage.contract.draft import Draft
from tenure.storage.contract.durable import DurableStore
from tenure.storage.contract.health import HealthStore
from tenure.storage.contract.messages import MessageStore
from tenure.storage.contract.operations import OperationsStore
from tenure.storage.contract.overview import OverviewStore
from tenure.storage.contract.reading import ReadingStore
from tenure.storage.contract.retention import RetentionStore
from tenure.storage.contract.schedules import ScheduleStore
from tenure.storage.contract.webhooks import WebhookStore
from tenure.storage.mapping.findings import MOST, Finding
from tenure.storage.schema.migration import Applied, Fit

KeyName = tuple[str, str, str]
"""An idempotency key in full: namespace, scope, key."""


class Wakeups(Protocol):
    """Hints that something may have happened. A hint may get lost: a waiter must also poll now and then."""

    @property
    def is_live(self) -> bool:
        """Whether hints from other processes can arrive now; a change of this is a hint itself."""

    def call(self, on_hint: Callable[[], None]) -> None:
        """Call this for each hint, in the loop's thread and without delay; `wait` sees none then."""

    async def wait(self, timeout: float) -> bool:
        """Whether a hint came since the last call, waiting for one up to `timeout` seconds."""


class Store(
    ReadingStore,
    OperationsStore,
    RetentionStore,
    AccessStore,
    OverviewStore,
    AsideStore,
    HealthStore,
    ScheduleStore,
    WebhookStore,
    ClaimsByIdStore,
    DurableStore,
    MessageStore,
    Protocol,
):
    """A place that keeps jobs.

    The order of the verbs: connection, creation, steps of jobs, duties of the clock, waiting. The other
    verbs are in modules beside this one: `reading` jobs, `operations` of the store, `retention` of finished
    jobs, `access` over HTTP, the `overview` of many jobs, jobs `aside`, which cannot be moved, the store's
    own `health`, `schedules`, `webhooks`, and for messages that name jobs `claims_by_id` and `messages`.
    """

    async def open(self) -> None:
        """Connect. Raises StoreUnavailable if the database cannot be reached."""

    async def close(self) -> None:
        """Finish pending calls and disconnect. Closing twice is harmless."""

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        """Bring the schema up to this code's; returns the migrations applied, none if it is current.

        Several at once are safe: they take turns, and each migration is applied by exactly one of them, in a
        transaction of its own; `on_applied` is called after its commit. A migration that was killed half-way
        has changed nothing, and the next call goes on from there. A newer schema that this code cannot read
        is refused with SchemaMismatch.
        """

    async def migration_sql(self) -> str:
        """The SQL that `migrate` would run, its own bookkeeping included, to be run by hand."""

    async def verify(self) -> Fit:
        """Raise SchemaMismatch unless the schema fits this code; returns the newest migrations of both.

        All migrations are applied, every table, column and index that they make exists, and the guards match
        the table of steps. The schema may be newer, with more in it, if all that this code does not know says
        that this code can read it; the guards may then have become stricter. Raises StoreRestored if history
        is ahead of what the server has counted.
        """

    async def inspect(self, *, limit: int = MOST) -> list[Finding]:
        """Rows that were changed by hand, as no verb would leave them, up to `limit`, each with the way out.

        Jobs without their place in line, their timer or their lease: none of them continues by itself. And
        records that no step has written: events that their job has not counted, attempts that have not ended,
        results without a success. Reads the whole database.
        """

    async def now(self) -> datetime:
        """The store's time: the only time that counts."""

    async def store_id(self) -> UUID:
        """The id of the store itself: random, the same for all who use it, and a new one after a restore."""

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Record jobs, all or none; answers in their order. At most 10,000 a call, else InvalidInput.

        A job starts as `created` with `hold`, `scheduled` with a time ahead, `queued` otherwise. (namespace,
        scope, key) is unique as long as the row exists: a second request gets the first job, whatever its
        state, and changes nothing; so does an id that is already taken. A delay counts from now, for a held
        job too. Unknown limits are created with the size given. When the call returns, the jobs are durable.
        StoreBusy if another open transaction holds one of the keys; only this call fails then.
        """

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | KeysTaken:
        """As `enqueue`, unless a key or an id belongs to a job that does not match: then nothing is recorded.

        Jobs among `known` count as matching, whatever the store finds.
        """

    async def known_keys(self, keys: Collection[KeyName]) -> set[KeyName]:
        """The ones of these keys that a job has, as last committed."""

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        """Prepare jobs to be recorded on the caller's own connection, in the caller's own transaction.

        Recording is as `enqueue`, but a transaction that holds one of the keys is waited for as long as the
        connection waits for any lock. Nothing is written before, except that their lines and limits may be
        created.
        """

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        """Enqueue jobs as children of one that a worker holds; None, and nothing is made, if it does not.

        As `enqueue`, with the job of the lease as `parent`. That job cannot be taken from its owner between
        the check of the lease and the commit.
        """

    async def accept(self, ids: Sequence[UUID]) -> list[JobStanding]:
        """Accept held jobs: `created` to `scheduled` or `queued`. Jobs in other states are left as they are.

        One answer for each job that exists, in the order given; an id given twice is answered twice.
        """

    async def cancel(
        self,
        ids: Sequence[UUID],
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> list[JobStanding]:
        """Cancel jobs: unowned ones are `cancelled` at once, running ones become `cancelling`.

        Cancelling and finished jobs are left as they are, and so are jobs in none of `states`, or aside.
        One answer for each job that exists, in the order given.
        """

    async def give_up(self, ids: Sequence[UUID]) -> list[JobStanding]:
        """Mark `retrying` jobs as given up; the next `promote` moves them to `failed`.

        `moved` says whether this call set the mark; the state is still `retrying` then. One answer for each
        job that exists, in the order given.
        """

    async def reschedule(
        self,
        ids: Sequence[UUID],
        *,
        run_at: datetime | None = None,
        delay: timedelta | None = None,
        actor: str = "api",
    ) -> list[JobStanding]:
        """Move `scheduled` and `retrying` jobs to another time; the state and the attempt stay.

        To `run_at`, or to `delay` from now, by default none; a time that has passed means now. The next
        `promote` at or after that time queues them. Each leaves a note `rescheduled` with the times `from`
        and `to`, which does not count among the notes that a job may have. A job that waits for that time
        already, or is due where now was asked for, stays as it is and leaves none: a repeat changes nothing.
        So do jobs in other states, those that were given up, and those aside. One answer for each job that
        exists, in the order given; `moved` says whether this call moved it.
        """

    async def replay(
        self,
        ids: Sequence[UUID],
        *,
        params: Document | None = None,
        forced: bool = False,
        key: str | None = None,
        make: bool = True,
    ) -> list[Replayed]:
        """Run finished jobs again, each as a new job linked by `replay_of`; one answer for each id given.

        The new job inherits definition, version, queue, priority, policy, limits, tags, namespace, creator
        and, unless `params` are given, params; neither key nor parent. While an earlier replay of a job has
        not finished, it is the answer, unless `forced`. Under one `key` a job is replayed once: that replay,
        whatever its state, is the answer as long as its row exists. Without `make` no job is made, and only
        earlier replays are found. A job that is pruned at the same moment is either replayed or unknown.
        """

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> TurnResult:
        """Record how attempts ended and claim the next jobs, in one transaction.

        A report counts only while its job is owned under exactly that fence by a lease of `order.worker` that
        has not run out; otherwise it is `lost` and leaves no trace. It leads to

        - Succeeded: `succeeded`, from `cancelling` too;
        - Recoverable: `retrying` until the backoff is over; `failed` if attempts are used up; `cancelled`
          if the job was cancelling;
        - Unrecoverable: `failed`, from `cancelling` too;
        - Stopped: `cancelled`; lost if the job was not cancelling;
        - Suspended: `suspended` with the attempt refunded; `cancelled` if the job was cancelling; `failed`
          after 10,000 suspensions.

        The usage in the report is kept with the attempt.

        Then up to `order.limit` queued jobs of `order.lines` become `running` under a fresh fence (or
        several, if not all are found at once), one more attempt each: higher priority first, then in the
        order they were queued; equal priorities of several lines take turns. One claim in four goes by age as
        well: there each minute that the first job of a line and priority has waited counts as one step of
        priority; if a line has very many priorities, it reads some, and the next such claim reads others.
        Locked rows are skipped, never waited for. An order with limit 0 claims nothing. While there are many
        jobs, what another process has put in line is seen within a second; within five on a database where
        the search takes long. A worker that listens, found nothing the last time and got a hint where jobs
        were put in line may get those alone; the next call finds the rest.

        Nothing is claimed from a paused line; a pause set by another process is seen as soon. A job with
        limits is claimed only while each of them has room, and takes a place in all of them until its
        attempt ends, however it ends. Never more run under a limit than its size allows; when the size is
        lowered, running jobs go on and none is added until they have become fewer. Fewer than `order.limit`
        are claimed only if no other job has room in its limits, as far as this process can know: what other
        processes hold, or are about to, is seen as late as what they put in line.
        """

    async def heartbeat(self, pulse: Pulse) -> Beat:
        """Prolong the leases a worker still holds, and write progress under them.

        A lease that has run out is not revived, even if it is not reaped yet. A lease of another worker, or
        of a job that is no longer owned under that fence, is lost. Jobs claimed together share one lease
        row: naming one of them prolongs all, even if that one was settled meanwhile. It also shows that an
        enlisted worker is alive, and its answer says whether the worker is to drain. No lease waits for a job
        that another transaction has locked: its progress is `untold`, and to be sent again.
        """

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        """Append log lines of attempts, and their notes as events of their jobs, in the order given.

        Counts only while the lease holds, which it does not prolong; otherwise it is `lost` and leaves no
        trace. A note is an event from the job's state to the same state: it counts in `n` and appears in the
        feed like any other, and moves nothing. A job has at most 10,000 notes; those beyond are left out, and
        its lease is among the `full`. The caller numbers the lines: one whose number exists already is left
        as it is, so that lines may be sent again after an unknown end; notes would be there twice.
        If another transaction has locked a job, nothing of it is recorded and its lease is among the
        `locked`; a call with that trail alone waits. Characters that no store accepts are replaced. At most
        10,000 lines and notes with 16 Mi characters a call, else InvalidInput.
        """

    async def annotate(self, lease: Lease, note: Note) -> bool:
        """Add a note to a job whose last claim was this lease, whatever its state; returns whether.

        For what is found after the attempt, such as a hook that failed; for a job that ended before any
        claim, the fence is 0. It is not added if the job was claimed again, is unknown, or has all the notes
        it may. A finished job stays as it is: the note gets the next number in its history and in the feed.
        """

    async def add_lines(self, lease: Lease, lines: Sequence[LogLine]) -> bool:
        """Add log lines behind those written under a lease, whatever became of it; returns whether.

        For the output of a hook after the attempt. They are numbered anew, in the order given. They are not
        added if the job is unknown, or the lease is yet to come; 0 is the fence of a job that ended before
        any claim. Bounded like `record`.
        """

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        """Hand jobs back: those not started, and those killed at the shutdown deadline or with their zygote.

        Back to `queued` with the attempt refunded; after 20 hand-backs the attempt is charged, and the job
        `failed` if none is left. Killed jobs that must not run twice are `buried`. Cancelling jobs are
        `cancelled`. Counts only while the lease holds; the rest is lost.
        """

    async def promote(self, limit: int) -> list[StepTaken]:
        """Take up to `limit` due steps of the clock, earliest due first.

        `scheduled`, `retrying` and `suspended` to `queued`, given-up ones to `failed`. Rows locked by others
        are skipped.
        """

    async def reap(self, limit: int) -> list[StepTaken]:
        """Take the jobs of up to `limit` leases that have run out from their owners.

        `cancelled` if cancelling; `buried` if the job must not run twice; `failed` if attempts are used up;
        `queued` otherwise, as `orphaned`. Each by its fence, so that a job claimed anew is left alone.
        """

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        """Take jobs of these lines that ended without an owner's report: each is returned once, ever.

        Those that `cancel`, `hand_back`, `suspend`, `promote` and `reap` have ended, if their definition was
        registered with hooks: a worker that serves it runs them.
        """

    async def outlook(self, lines: Collection[Line], present: Presence | None = None) -> Outlook:
        """When the next work is due, at the cost of a few look-ups: for a worker that is idle.

        `present` says which one it is: as good as a heartbeat without leases, at the cost of a commit.
        """

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        """Get hints when any process may have put jobs in line; with `endings`, when jobs may have ended.

        With `stops` instead when running jobs may have been cancelled; with `changes`, when `outlook` may
        have changed, but for leases and the time.
        Hints come after the commit and at most every few milliseconds. They may be late or lost; polling
        alone is always correct.
        """
