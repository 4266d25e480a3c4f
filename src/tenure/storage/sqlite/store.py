"""The SQLite store, verb by verb; what each promises stands in `tenure.storage.contract`.

Here stands the life of jobs; what is read stands in `reading`, what operators set in `operations`, what
attempts leave behind in `trails`.
"""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from uuid import UUID

import apsw

from tenure.core.bounds import LARGEST_BATCH, MOST_HAND_BACKS, MOST_SUSPENSIONS, printable, whole
from tenure.core.children import child_of
from tenure.core.documents import Document
from tenure.core.errors import DataRefused
from tenure.core.job import Enqueued, Moved, NewJob, Standing, Taken
from tenure.core.lease import Beat, Lease, Line, Order, Pulse
from tenure.core.operations import Replayed
from tenure.core.outcome import Report, Settled
from tenure.core.round import Round
from tenure.core.states import UNFINISHED, State
from tenure.core.text import storable
from tenure.storage import values
from tenure.storage.aging import FURTHER, STEP, goes_by_age
from tenure.storage.draft import Draft
from tenure.storage.identity import Identity
from tenure.storage.reading import replayed_from, written_lines
from tenure.storage.sqlite import rows, sifting
from tenure.storage.sqlite.access import Access
from tenure.storage.sqlite.clock import StoreClock, Turn
from tenure.storage.sqlite.connection import Durability, Opening, intact, translated
from tenure.storage.sqlite.draft import SqliteDraft
from tenure.storage.sqlite.gathering import MOST_ROWS
from tenure.storage.sqlite.operations import Operations
from tenure.storage.sqlite.overview import Overview
from tenure.storage.sqlite.reading import Reading
from tenure.storage.sqlite.sifting import Sifting
from tenure.storage.sqlite.trails import Trails
from tenure.storage.turn import reported, settled_from

FEW = 100
"""Of so many new jobs in one call the rows are made while the file is locked: it takes a millisecond."""


class SqliteStore(Reading, Overview, Operations, Trails, Access, Sifting):
    """Jobs in one file, shared by any number of processes of one machine."""

    def __init__(
        self,
        path: Path | str,
        *,
        timeout: float = 15.0,
        durability: Durability = "full",
        create: bool = True,
        vfs: str | None = None,
    ) -> None:
        """`timeout` bounds, in seconds, how long opening or a write waits for other processes.

        With `durability="normal"` commits are not synced one by one: a power cut may take back the last ones,
        though acknowledged. `create`: a file may be made. `vfs` names the layer through which SQLite reaches
        the file, if not its own.
        """
        super().__init__(path, Opening(timeout, durability, vfs), create=create)
        self._identity: Identity | None = None
        self._turn = 0

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        if len(jobs) > FEW:
            return await self._writer.run_on(self._enqueue, await self._asked(jobs))
        return await self._writer.run_on(self._enqueue_few, jobs) if jobs else []

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | Taken:
        values.check_batch(jobs)
        asked = await self._asked(jobs)

        def enqueue(connection: apsw.Connection, turn: Turn) -> list[Enqueued]:
            answers = self._enqueue(connection, turn, asked)
            if taken := values.taken(answers, known):
                raise values.Refused(taken)  # which takes back what this call has written
            return answers

        try:
            return await self._writer.run(enqueue, rows=len(jobs)) if jobs else []
        except values.Refused as refused:
            return refused.taken

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        values.check_batch(jobs)
        await self._readers.look(lambda _: None)  # the file at the path is the one that we have open
        asked = await self._asked(jobs)
        return SqliteDraft(self._path, lambda connection, turn: self._enqueue(connection, turn, asked))

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        printable("worker", worker, least=1)
        values.check_batch(jobs)
        children = await self._asked([child_of(lease.job, job) for job in jobs])
        claim = {"worker": worker, "job": str(lease.job), "fence": lease.fence}

        def spawn(connection: apsw.Connection, turn: Turn) -> list[Enqueued] | None:
            held = self._scripts.one(connection, "spawn", **turn._asdict(), **claim)
            return self._enqueue(connection, turn, children) if held else None

        return await self._writer.run(spawn, rows=len(jobs))

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
        return values.standings(ids, await self._run("accept", _ids(ids)))

    async def cancel(
        self,
        ids: Sequence[UUID],
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> list[Standing]:
        answer = await self._run(
            "cancel",
            _ids(ids),
            actor=storable(actor),
            reason=reason and storable(reason),
            states=values.written_names(sorted(states)) or "[]",
        )
        return values.standings(ids, answer)

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        return values.standings(ids, await self._run("give_up", _ids(ids)))

    async def replay(
        self,
        ids: Sequence[UUID],
        *,
        params: Document | None = None,
        forced: bool = False,
        key: str | None = None,
        make: bool = True,
    ) -> list[Replayed]:
        values.check_key(key)
        asked = list(dict.fromkeys(ids))
        answer = await self._writer.run(
            lambda connection, turn: self._scripts.run(
                connection,
                "replay",
                [(str(job), str(self._new_id(turn))) for job in asked],
                **turn._asdict(),
                params=params,
                forced=forced,
                key=key,
                make=make,
            )
        )
        found = {row["job"]: replayed_from(row) for row in answer}
        return [found[job] for job in ids]

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> Round:
        self._turn += bool(order.limit)
        given = reported(reports)
        values = {
            "worker": order.worker,
            "lease_for": rows.duration(order.lease_for),
            "limit": order.limit,
            "most_suspensions": MOST_SUSPENSIONS,
            "lines": written_lines(order.lines),
            "turn": self._turn,
            "step": rows.duration(STEP) if goes_by_age(self._turn) else None,
            "further": FURTHER,
        }
        try:
            answer = await self._writer.run(
                lambda connection, turn: self._scripts.bare(
                    connection, "settle_and_claim", rows.reports(given), **turn._asdict(), **values
                )
            )
        except DataRefused as refused:
            await self._sift(refused, sifting.settling(given, values), sifting.claiming(values))
        with intact(self._path):
            return Round(settled_from(given, rows.settled_groups(answer)), rows.claimed(answer))

    async def heartbeat(self, pulse: Pulse) -> Beat:
        held = sorted(set(pulse.leases))
        given = [(str(lease.job), lease.fence, values.progress_under(pulse, lease)) for lease in held]
        said = {
            "worker": pulse.worker,
            "ready": pulse.ready,
            "lease_for": rows.duration(pulse.lease_for),
        }
        answer = await self._writer.run(
            lambda connection, turn: self._scripts.run(
                connection, "heartbeat", given, **turn._asdict(), **said
            ),
            is_urgent=True,
        )
        return values.beat_from(held, answer)

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        printable("worker", worker, least=1)
        given, dead = sorted({*unstarted, *killed}), set(killed)
        leases = [(str(lease.job), lease.fence, lease in dead) for lease in given]
        named = {"worker": worker, "most": MOST_HAND_BACKS}
        try:
            answer = await self._run("hand_back", leases, **named)
        except DataRefused as refused:
            await self._sift(refused, sifting.handing_back(leases, named))
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        try:
            return values.moved_from(await self._run("promote", limit=limit))
        except DataRefused as refused:
            await self._sift(refused, sifting.promoting(limit))

    async def reap(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        try:
            return values.reaped_from(await self._run("reap", limit=limit))
        except DataRefused as refused:
            await self._sift(refused, sifting.reaping(limit))

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        whole("limit", limit, 0, LARGEST_BATCH)
        taken = await self._write("follow_up", lines=written_lines(lines), limit=limit)
        return [row["job"] for row in taken]

    def _new_id(self, turn: Turn) -> UUID:
        if self._identity is None:
            self._identity = Identity(rows.moment(turn.now))
        return self._identity.make()

    async def _asked(self, jobs: Sequence[NewJob]) -> list[rows.Asked]:
        """New jobs as they are written: made and checked while nobody waits for the file's lock."""
        if self._identity is None:
            self._identity = Identity(rows.moment(await self._readers.look(_time)))
        if len(jobs) > MOST_ROWS:  # which takes so long that our loop would miss it
            return await asyncio.to_thread(self._made, self._identity, jobs)
        return self._made(self._identity, jobs)

    def _made(self, identity: Identity, jobs: Sequence[NewJob]) -> list[rows.Asked]:
        with translated(self._path):
            return rows.asked(jobs, [job.id or identity.make() for job in jobs])

    def _enqueue_few(self, connection: apsw.Connection, turn: Turn, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Make the rows here: callers who had to make them first would come too late to share a commit."""
        ids = [job.id or self._new_id(turn) for job in jobs]
        return self._enqueue(connection, turn, rows.asked(jobs, ids))

    def _enqueue(
        self, connection: apsw.Connection, turn: Turn, asked: Sequence[rows.Asked]
    ) -> list[Enqueued]:
        given = [one.columns for one in asked]
        answer = self._scripts.bare(connection, "enqueue", given, **turn._asdict(), count=len(asked))
        fresh = dict(answer)
        return [
            Enqueued(one.id, State(fresh[place]), fresh=True)
            if place in fresh
            else self._find(connection, one.job, one.id) or self._enqueue(connection, turn, [one])[0]
            for place, one in enumerate(asked, 1)
        ]

    def _find(self, connection: apsw.Connection, job: NewJob, asked_id: UUID) -> Enqueued | None:
        """Who took the key or id; nobody, if that was an earlier job of the call which was itself not new."""
        for row in self._scripts.one(
            connection,
            "enqueue.find",
            id=str(asked_id),
            namespace=job.namespace,
            scope=job.scope,
            key=job.key,
            definition=job.definition,
            version=job.version,
            params_hash=values.binding(job),
            params=job.params,
        ):
            return Enqueued(row["id"], State(row["state"]), fresh=False, matches=bool(row["matches"]))
        return None


def _time(connection: apsw.Connection) -> int:
    """The store's time, without a wait for whoever writes."""
    return StoreClock(connection).read(connection).now


def _ids(ids: Sequence[UUID]) -> list[tuple[str]]:
    return [(str(job),) for job in sorted(set(ids))]
