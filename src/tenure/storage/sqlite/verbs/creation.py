"""The verbs of the SQLite store that make jobs."""

import asyncio
from collections.abc import Collection, Sequence
from uuid import UUID

import apsw

from tenure.core.model.child_keys import child_of
from tenure.core.model.job import Enqueued, KeysTaken, NewJob
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.values.bounds import printable
from tenure.core.values.documents import Document
from tenure.storage.contract.draft import Draft
from tenure.storage.mapping import values
from tenure.storage.mapping.identity import Identity
from tenure.storage.mapping.job_rows import binding
from tenure.storage.mapping.reading import replayed_from
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import StoreClock, TransactionTime
from tenure.storage.sqlite.file.commit_queue import MOST_ROWS
from tenure.storage.sqlite.file.connection import translated
from tenure.storage.sqlite.file.database import Database
from tenure.storage.sqlite.verbs.draft import SqliteDraft

FEW = 100
"""Up to so many new jobs of one call are converted to rows while the file is locked: a millisecond's work."""


class Creation(Database):
    """Enqueues, replays and spawns."""

    _identity: Identity | None = None

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        if len(jobs) > FEW:
            return await self._writer.run_on(self._enqueue, await self._new_rows(jobs))
        return await self._writer.run_on(self._enqueue_few, jobs) if jobs else []

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | KeysTaken:
        values.check_batch(jobs)
        new = await self._new_rows(jobs)

        def enqueue(connection: apsw.Connection, turn: TransactionTime) -> list[Enqueued]:
            answers = self._enqueue(connection, turn, new)
            if taken := values.taken(answers, known):
                raise values.RolledBack(taken)  # undoes what this call has written
            return answers

        try:
            return await self._writer.run(enqueue, rows=len(jobs)) if jobs else []
        except values.RolledBack as refused:
            return refused.taken

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        values.check_batch(jobs)
        await self._readers.look(lambda _: None)  # checks that the open file is the one at the path
        new = await self._new_rows(jobs)
        return SqliteDraft(self._path, lambda connection, turn: self._enqueue(connection, turn, new))

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        printable("worker", worker, least=1)
        values.check_batch(jobs)
        children = await self._new_rows([child_of(lease.job, job) for job in jobs])
        claim = {"worker": worker, "job": str(lease.job), "fence": lease.fence}

        def spawn(connection: apsw.Connection, turn: TransactionTime) -> list[Enqueued] | None:
            held = self._scripts.one(connection, "spawn", **turn._asdict(), **claim)
            return self._enqueue(connection, turn, children) if held else None

        return await self._writer.run(spawn, rows=len(jobs))

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
        wanted = list(dict.fromkeys(ids))
        answer = await self._writer.run(
            lambda connection, turn: self._scripts.run(
                connection,
                "replay",
                [(str(job), str(self._new_id(turn))) for job in wanted],
                **turn._asdict(),
                params=params,
                forced=forced,
                key=key,
                make=make,
            )
        )
        found = {row["job"]: replayed_from(row) for row in answer}
        return [found[job] for job in ids]

    def _new_id(self, turn: TransactionTime) -> UUID:
        if self._identity is None:
            self._identity = Identity(rows.moment(turn.now))
        return self._identity.make()

    async def _new_rows(self, jobs: Sequence[NewJob]) -> list[rows.NewJobRow]:
        """Convert new jobs to rows before the file is locked."""
        if self._identity is None:
            self._identity = Identity(rows.moment(await self._readers.look(_time)))
        if len(jobs) > MOST_ROWS:  # would block the event loop for too long
            return await asyncio.to_thread(self._make_rows, self._identity, jobs)
        return self._make_rows(self._identity, jobs)

    def _make_rows(self, identity: Identity, jobs: Sequence[NewJob]) -> list[rows.NewJobRow]:
        with translated(self._path):
            return rows.new_job_rows(jobs, [job.id or identity.make() for job in jobs])

    def _enqueue_few(
        self, connection: apsw.Connection, turn: TransactionTime, jobs: Sequence[NewJob]
    ) -> list[Enqueued]:
        """Make the rows here: callers that make them first come too late to share a commit."""
        ids = [job.id or self._new_id(turn) for job in jobs]
        return self._enqueue(connection, turn, rows.new_job_rows(jobs, ids))

    def _enqueue(
        self, connection: apsw.Connection, turn: TransactionTime, new: Sequence[rows.NewJobRow]
    ) -> list[Enqueued]:
        given = [one.columns for one in new]
        answer = self._scripts.bare(connection, "enqueue", given, **turn._asdict(), count=len(new))
        fresh = dict(answer)
        return [
            Enqueued(one.id, State(fresh[place]), fresh=True)
            if place in fresh
            else self._find(connection, one.job, one.id) or self._enqueue(connection, turn, [one])[0]
            for place, one in enumerate(new, 1)
        ]

    def _find(self, connection: apsw.Connection, job: NewJob, new_id: UUID) -> Enqueued | None:
        """The job that took the key or id; None if that was an earlier job of the call, not new itself."""
        for row in self._scripts.one(
            connection,
            "enqueue.find",
            id=str(new_id),
            namespace=job.namespace,
            scope=job.scope,
            key=job.key,
            definition=job.definition,
            version=job.version,
            params_hash=binding(job),
            params=job.params,
        ):
            return Enqueued(row["id"], State(row["state"]), fresh=False, matches=bool(row["matches"]))
        return None


def _time(connection: apsw.Connection) -> int:
    """The store's time, without waiting for a writer."""
    return StoreClock(connection).read(connection).now
