"""The storage contract: what both stores promise, verb by verb.

Every verb that moves jobs is conditional: it names the state it expects and, where there is an owner, the
fence; its answer says which jobs moved. What can be expected (a lost lease, a finished job, an unknown id) is
a return value; outages and bugs are exceptions of `tenure.core.errors`, never a driver's. Time is the store's
alone: no verb takes the present from its caller. Every step commits together with its event, and an attempt's
end with its attempt row. Every verb may run on all nodes at once.

A batch is only an economy: when `settle_and_claim`, `hand_back`, `promote` or `reap` meets jobs that the
database refuses to move, for a reason that lies in the data, these are put aside (`tenure.storage.aside`) and
the verb raises JobsAside: nothing else was written, and the same call goes without them.

The contract suite in tests/storage/contract, one file a verb, is the definition of this protocol.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol
from uuid import UUID

from tenure.core.documents import Document
from tenure.core.job import Enqueued, Moved, NewJob, Standing, Taken
from tenure.core.lease import Beat, Lease, Line, Order, Pulse
from tenure.core.operations import (
    Replayed,
)
from tenure.core.outcome import Report, Settled
from tenure.core.reading import Outlook
from tenure.core.round import Round
from tenure.core.states import UNFINISHED, State
from tenure.core.trail import LogLine, Note, Recorded, Trail
from tenure.storage.access import AccessStore
from tenure.storage.aside import AsideStore
from tenure.storage.draft import Draft
from tenure.storage.findings import MOST, Finding
from tenure.storage.migrate import Applied
from tenure.storage.operations import OperationsStore
from tenure.storage.overview import OverviewStore
from tenure.storage.reading import ReadingStore

KeyName = tuple[str, str, str]
"""An idempotency key in full: namespace, scope, key."""


class Wakeups(Protocol):
    """Hints that something may have happened. None is promised to come: who waits must look now and then."""

    @property
    def is_live(self) -> bool:
        """Whether hints from other processes can come at present; when that changes, a hint comes."""

    def call(self, heard: Callable[[], None]) -> None:
        """Have this called, in the loop's thread and without delay, for each hint; `wait` sees none then."""

    async def wait(self, timeout: float) -> bool:
        """Whether a hint came since the last call, waiting for one up to `timeout` seconds."""


class Store(ReadingStore, OperationsStore, AccessStore, OverviewStore, AsideStore, Protocol):
    """A place that keeps jobs.

    The verbs stand in this order: connection, creation, what moves jobs, the clock's duties, what a worker
    waits for. Of the others, those that read jobs stand in `tenure.storage.reading`, those by which it is
    operated in `operations` beside it, those about access over HTTP in `access`, those that look at the whole
    in `overview`, and those about jobs that cannot be moved in `aside`.
    """

    async def open(self) -> None:
        """Connect. Raises StoreUnavailable when the database cannot be reached."""

    async def close(self) -> None:
        """Finish what was handed in and disconnect. Closing twice is harmless."""

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        """Bring the schema up to this code's; answers with the migrations applied, none when up to date.

        Several at once are safe: they take turns, and each migration is applied by exactly one of them, in a
        transaction of its own. When it is committed, `on_applied` is told. One that was killed half-way has
        changed nothing, and the next call goes on from there. A schema newer than the code is refused with
        SchemaMismatch.
        """

    async def migration_sql(self) -> str:
        """The SQL that `migrate` would run, its own bookkeeping included, for somebody to run by hand."""

    async def verify(self) -> None:
        """Raise SchemaMismatch unless the schema is this code's.

        All migrations are applied, every table, column and index that they make is there, and the guards are
        the table of steps.
        """

    async def inspect(self, *, limit: int = MOST) -> list[Finding]:
        """What hands have left that no verb would, up to `limit`, each with the way out.

        Jobs that were moved past their place in line, their timer or their lease: none of them goes on by
        itself. And rows on record that no step has written: events that their job has not counted, attempts
        that have not ended, results without a success. Reads all there is.
        """

    async def now(self) -> datetime:
        """The store's time: the only time that counts."""

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Record jobs, all or none; answers in their order. At most 10,000 a call, else InvalidInput.

        A job is born `created` with `hold`, `scheduled` with a time ahead, `queued` otherwise. (namespace,
        scope, key) is unique for as long as the row lives: a second request answers with the first job,
        whatever became of it, and changes nothing; so does an id that is already taken. A delay counts from
        now, for a held job too. Limits that are not yet known are made with the size they bring. When the
        answer comes, the jobs are durable.
        StoreBusy when another open transaction holds one of the keys; only this call fails then.
        """

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | Taken:
        """As `enqueue`, unless a key or an id belongs to something else: then nothing is recorded at all.

        Jobs among `known` are what was asked for, whatever the store would say of them.
        """

    async def known_keys(self, keys: Collection[KeyName]) -> set[KeyName]:
        """Those of the keys that stand for a job, as last committed."""

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        """Make jobs ready to be recorded by the caller's own connection, in the caller's own transaction.

        Recording is as `enqueue`, but who holds one of the keys is waited for as long as the connection
        waits for anything. Nothing is written before, except that their lines and limits may be made known.
        """

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        """Enqueue jobs as children of one that a worker holds; None, and nothing is made, when it does not.

        As `enqueue` does, with the job of the lease as `parent`. Nobody can take that job from its owner
        between the look at the lease and the commit.
        """

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
        """Let held jobs go: `created` to `scheduled` or `queued`. Jobs in other states are left as they are.

        One answer for each job that exists, in the order asked; an id asked twice is answered twice.
        """

    async def cancel(
        self,
        ids: Sequence[UUID],
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> list[Standing]:
        """Cancel jobs: unowned ones are `cancelled` at once, running ones become `cancelling`.

        Cancelling and finished jobs are left as they are, and so is whoever is in none of `states`, or aside.
        One answer for each job that exists, in the order asked.
        """

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        """Mark `retrying` jobs as given up; the next `promote` moves them to `failed`.

        `moved` says whether the mark was set by this call; the state is still `retrying` then. One answer for
        each job that exists, in the order asked.
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
        """Run finished jobs again, each as a new job linked by `replay_of`; one answer for each id asked.

        The new job inherits definition, version, queue, priority, policy, limits, tags, namespace, creator
        and, unless `params` are given, params; neither key nor parent. While an earlier replay of a job has
        not finished, it is the answer, unless `forced`. Under one `key` a job is replayed once: whatever has
        become of that replay, it is the answer for as long as its row lives. Without `make` there are such
        answers only, and nothing is made. A job that pruning takes away at the same moment is either
        replayed or unknown.
        """

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

        What the report says the attempt used is kept with the attempt.

        Then up to `order.limit` queued jobs of `order.lines` become `running` under a fresh fence (or
        several, where not all are found at once), one more attempt each: higher priority first, then in the
        order they were queued; equal priorities of several lines take turns. One claim in four goes by age as
        well: there each minute that the first job of a line and priority has waited counts as one step of
        priority; where a line has very many priorities, it looks at some, and the next such claim at others.
        Locked rows are skipped, never waited for. An order with limit 0 claims nothing. While jobs are
        plenty, what another process has put in line is seen within a second; within five on a database where
        looking takes long. Who listens, found nothing the last time and is told where jobs were put in line
        may be given those alone; whatever else there is, the next call finds.

        From a paused line nothing is claimed; a pause set by another process is seen as soon. A job with
        limits is claimed only while each of them has room, and takes a place in all of them until its
        attempt ends, however it ends. Never more run under a limit than its size allows; when the size is
        lowered, those that run go on and none is added until they have become fewer. Fewer than `order.limit`
        are claimed only where nobody is left whose limits have room, as far as this process can know: what
        others hold, or are about to, is seen as what they put in line.
        """

    async def heartbeat(self, pulse: Pulse) -> Beat:
        """Prolong the leases a worker still holds, and write progress under them.

        A lease that has run out is not revived, even if nobody has reaped it yet. A lease of another worker,
        or of a job that is no longer owned under that fence, is lost. Jobs claimed together share one lease
        row: naming one of them prolongs all, even if that one was settled meanwhile. It is also the sign of
        life of an enlisted worker, and its answer tells whether the worker is to drain.
        """

    async def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        """Append what attempts have said: log lines, and notes as events of their jobs, in the order given.

        Counts only while the lease holds, which it does not prolong; otherwise it is `lost` and leaves no
        trace. A note is an event from the job's state to the same state: it counts in `n` and stands in the
        feed like any other, and moves nothing. A job has at most 10,000 notes; those beyond are left out, and
        its lease is among the `full`. Lines are numbered by the caller: one whose number is there already
        is left as it is, so that lines may be sent again after an unknown end; notes would be there twice.
        Characters that no store takes are replaced. At most 10,000 lines and notes with 16 Mi characters a
        call, else InvalidInput.
        """

    async def annotate(self, lease: Lease, note: Note) -> bool:
        """Add a note to a job whose last claim was this lease, whatever has become of it; answers whether.

        For what is found out when the attempt is over, such as a hook that failed; of a job that ended before
        any claim, with 0 for the fence. It is not added when the job was claimed again, is unknown, or has
        all the notes it may. A finished job itself stays as it is:
        the note bears the next number, and stands in its history and in the feed.
        """

    async def add_lines(self, lease: Lease, lines: Sequence[LogLine]) -> bool:
        """Add log lines behind those written under a lease, whatever has become of it; answers whether.

        For what a hook says when the attempt is over. They are numbered anew, in the order given. They are
        not added where the job is unknown, or that lease is yet to come; 0 is the fence of a job that ended
        before any claim. Bounded like `record`.
        """

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        """Give jobs back: those not started, and those killed at the shutdown deadline or with their zygote.

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

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        """Take jobs of these lines that ended without an owner's report: each is given out once, ever.

        Those that `cancel`, `hand_back`, `promote` and `reap` have ended, if their definition was registered
        with hooks: for whoever serves it, to run them.
        """

    async def outlook(self, lines: Collection[Line]) -> Outlook:
        """What is to come, at the cost of a few look-ups: for a worker that has nothing to do."""

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        """Be woken when jobs may have been put in line, in whatever process; or, with `endings`, have ended.

        With `stops` be woken, instead, when jobs that run may have been asked to stop; with `changes`, when
        `outlook` may say something else, but for leases and the time.
        Hints come after the commit and at most every few milliseconds. They may be late or lost; polling
        alone is always correct.
        """
