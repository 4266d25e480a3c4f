"""The verbs of the PostgreSQL store that make jobs."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.errors import StoreBusy, StoreError, StoreRefused, StoreUnavailable
from tenure.core.model.child_keys import child_of
from tenure.core.model.job import Enqueued, KeysTaken, NewJob
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.values.bounds import printable
from tenure.core.values.documents import Document
from tenure.storage.contract.draft import Draft
from tenure.storage.mapping import reading, values
from tenure.storage.postgres import rows
from tenure.storage.postgres.claims.hints import Place
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.verbs.draft import PostgresDraft
from tenure.storage.postgres.wire.coalesce import Coalescer
from tenure.storage.postgres.wire.pool import Pool

MOST_A_STATEMENT = 1_000
"""How many jobs of several calls share one statement; a single call may bring more."""

PATIENCE = "200ms"
"""How long a statement with the jobs of many callers waits for a transaction that holds a key."""

Run = Callable[..., Awaitable[list[asyncpg.Record]]]
"""Runs a statement, by its name, in an open transaction."""

Recording = Callable[[Sequence[NewJob], Sequence[UUID], Sequence[int]], Awaitable[list[asyncpg.Record]]]
"""Runs the statement that records jobs, given their ids and those of their lines."""


_STATES = {state.value: state for state in State}


class _LeaseLost(Exception):
    """The worker that spawns children does not hold their parent's lease."""


class Creation(Database):
    """Enqueues, replays and spawns."""

    def __init__(self, pool: Pool, *, notify: bool, patience: float) -> None:
        """`patience` bounds how many seconds an enqueue waits for its turn."""
        super().__init__(pool, notify=notify)
        self._enqueues: Coalescer[NewJob, Enqueued] = Coalescer(
            self._enqueue, most=MOST_A_STATEMENT, patience=patience, lanes=2
        )

    async def close(self) -> None:
        await self._enqueues.close()
        await super().close()

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        return await self._enqueues.call(jobs)

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | KeysTaken:
        values.check_batch(jobs)

        async def record(
            jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            async def record_all(run: Run) -> list[asyncpg.Record]:
                recorded = await run("enqueue.record+keys", **rows.new_jobs(jobs, ids, lines, PATIENCE))
                if len(recorded) < len(jobs):
                    found = await run(
                        "enqueue.find", **rows.keys_of(jobs, ids), **_fresh(_places(recorded), ids)
                    )
                    _require_matching(recorded, found, ids, known)
                return recorded

            return await self._pool.transact(record_all)

        try:
            return await self._enqueue(jobs, record) if jobs else []
        except values.RolledBack as refused:
            return refused.taken

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        values.check_batch(jobs)
        identity = await self._load_identity()
        ids = [job.id or identity.make() for job in jobs]
        return PostgresDraft(jobs, rows.new_jobs(jobs, ids, await self._lines.find(jobs), None))

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        printable("worker", worker, least=1)
        values.check_batch(jobs)

        async def record(
            jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            claim = {"job": lease.job, "fence": lease.fence, "worker": worker}
            columns = rows.new_jobs(jobs, ids, lines, PATIENCE)
            held, *recorded = await self._pool.run_all(("spawn", claim), ("enqueue.record+keys", columns))
            if not held:
                raise _LeaseLost("the lease is lost")
            return recorded[0]

        try:
            return await self._enqueue([child_of(lease.job, job) for job in jobs], record)
        except _LeaseLost:
            return None

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
        identity = await self._load_identity()
        wanted = sorted(set(ids))
        new_ids = [identity.make() for _ in wanted]
        columns: dict[str, object] = {
            "ids": wanted,
            "new_ids": new_ids,
            "params": params,
            "forced": forced,
            "key": key,
            "make": make,
        }
        *_, answer = await self._pool.run_all(("replay.lock", {"ids": wanted}), ("replay.record", columns))
        self._note_queued(row for row in answer if row["fresh"])
        found = {row["job"]: reading.replayed_from(row) for row in answer}
        return [found.get(job) or Replayed(job, None, None, fresh=False) for job in ids]

    def _enqueue(
        self, jobs: Sequence[NewJob], record: Recording | None = None
    ) -> Coroutine[Any, Any, list[Enqueued]]:
        """One statement for the jobs of one or many callers; a second one only if keys were taken."""
        if record is None and len(jobs) == 1 and rows.is_plain(jobs[0]):
            return self._enqueue_one(jobs)
        return self._enqueue_all(jobs, record)

    async def _enqueue_one(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """The shortest way, for most calls."""
        [job] = jobs
        identity = self._identity or await self._load_identity()
        made = job.id or identity.make()
        line = self._lines.cached(job) or (await self._lines.find(jobs))[0]
        form = "enqueue.one" if job.key is None and job.id is None else "enqueue.one+keys"
        hint = self._wakeups.along_with_commit()
        columns = rows.new_job(job, made, line, PATIENCE, hint and hint.text)
        try:
            recorded = await self._record_one(form, columns)
        except StoreRefused:
            return await self._enqueue_all(jobs, None)  # which handles a line that is gone
        if not recorded:
            answers: dict[int, Enqueued] = {}
            await self._answer_the_rest(jobs, [made], answers, None)
            return [answers[0]]
        line, rank, is_sent = recorded[0]
        self._note_places({(line, rank): job}, 1, hint if is_sent else None)
        return [Enqueued(made, State.QUEUED, fresh=True)]

    async def _record_one(self, form: str, columns: dict[str, Any]) -> list[asyncpg.Record]:
        """No job waits for its hint: the hint is left out if other commits that notify take long."""
        try:
            return await self._pool.run_with(form, columns)
        except StoreBusy:
            if columns["hint"] is None:
                raise
            return await self._pool.run_with(form, {**columns, "hint": None})

    async def _enqueue_all(self, jobs: Sequence[NewJob], record: Recording | None) -> list[Enqueued]:
        identity = self._identity or await self._load_identity()
        if record is None and len(jobs) > 1 and rows.are_alike(jobs):
            return await self._enqueue_alike(jobs, identity.make_many(len(jobs)))
        ids = [job.id or identity.make() for job in jobs]
        answers = self._note_recorded(jobs, ids, await self._record(jobs, ids, record or self._record_plain))
        if (written := len(answers)) < len(jobs):
            try:
                await self._answer_the_rest(jobs, ids, answers, record)
            except (StoreError, _LeaseLost, values.RolledBack) as error:
                if not written:
                    raise
                # Repeating the call would record those twice.
                raise StoreUnavailable(f"part of the call was written: {error}", unknown=True) from error
        return [answers[index] for index in range(len(jobs))]

    def _note_recorded(
        self, jobs: Sequence[NewJob], ids: Sequence[UUID], recorded: Iterable[asyncpg.Record]
    ) -> dict[int, Enqueued]:
        """Send hints for the jobs that were recorded; returns them by their index in the call."""
        fresh: dict[int, Enqueued] = {}
        queued: dict[Place, NewJob] = {}
        is_timed = False
        for position, state, line, rank in recorded:
            index = position - 1
            fresh[index] = Enqueued(ids[index], _STATES[state], fresh=True)
            if state == "queued":
                queued[line, rank] = jobs[index]
            elif state == "scheduled":
                is_timed = True
        self._note_places(queued, len(fresh))
        if is_timed:
            self._wakeups.timed()
        return fresh

    async def _enqueue_alike(self, jobs: Sequence[NewJob], ids: Sequence[UUID]) -> list[Enqueued]:
        """Enqueue jobs that have neither keys nor ids which could be taken, so one row answers for all."""

        async def record(
            _first: Sequence[NewJob], _ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            return await self._pool.run_with("enqueue.alike", rows.new_jobs_alike(jobs, ids, lines[0]))

        [(line, rank)] = await self._record(jobs[:1], ids[:1], record)
        self._note_places({(line, rank): jobs[0]}, len(jobs))
        return [Enqueued(job, State.QUEUED, fresh=True) for job in ids]

    async def _answer_the_rest(
        self,
        jobs: Sequence[NewJob],
        ids: Sequence[UUID],
        answers: dict[int, Enqueued],
        record: Recording | None,
    ) -> None:
        """Look up which job took a key or an id; if that is free again, record the new job after all."""
        for row in await self._pool.run("enqueue.find", **rows.keys_of(jobs, ids), **_fresh(answers, ids)):
            found = Enqueued(row["id"], State(row["state"]), fresh=False, matches=row["matches"])
            answers.setdefault(row["position"] - 1, found)
        if missing := [index for index in range(len(jobs)) if index not in answers]:
            recorded = await self._enqueue([jobs[index] for index in missing], record)
            answers.update(zip(missing, recorded, strict=True))

    async def _record(
        self, jobs: Sequence[NewJob], ids: Sequence[UUID], record: Recording
    ) -> list[asyncpg.Record]:
        try:
            return await record(jobs, ids, self._lines.all_cached(jobs) or await self._lines.find(jobs))
        except StoreRefused as refusal:
            # A cached line is gone: the database was restored or created anew.
            if getattr(refusal.__cause__, "column_name", None) != "line":
                raise
            self._lines.forget()
            return await record(jobs, ids, await self._lines.find(jobs))

    def _record_plain(
        self, jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
    ) -> Awaitable[list[asyncpg.Record]]:
        form = "+keys" if any(job.key is not None or job.id is not None for job in jobs) else ""
        return self._pool.run_with(f"enqueue.record{form}", rows.new_jobs(jobs, ids, lines, PATIENCE))


def _places(recorded: Iterable[asyncpg.Record]) -> list[int]:
    return [row["position"] - 1 for row in recorded]


def _fresh(places: Iterable[int], ids: Sequence[UUID]) -> dict[str, Any]:
    """The jobs of a call that were recorded, so that none of them counts as one that existed before."""
    fresh = sorted(places)
    return {"fresh_ids": [ids[place] for place in fresh], "fresh_positions": [place + 1 for place in fresh]}


def _require_matching(
    recorded: Iterable[asyncpg.Record],
    found: Iterable[asyncpg.Record],
    ids: Sequence[UUID],
    known: Collection[UUID],
) -> None:
    """Raise RolledBack if a key belongs to another job; StoreBusy if that job is gone by now."""
    answers = {place: Enqueued(ids[place], State.QUEUED, fresh=True) for place in _places(recorded)}
    for row in found:
        first = Enqueued(row["id"], State(row["state"]), fresh=False, matches=row["matches"])
        answers.setdefault(row["position"] - 1, first)
    if len(answers) < len(ids):
        raise StoreBusy("a key became free at this moment; nothing was written, try again")
    if taken := values.taken([answers[place] for place in range(len(ids))], known):
        raise values.RolledBack(taken)
