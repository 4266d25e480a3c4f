"""The verbs of the PostgreSQL store that make jobs."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.bounds import printable
from tenure.core.children import child_of
from tenure.core.documents import Document
from tenure.core.errors import StoreBusy, StoreError, StoreRefused, StoreUnavailable
from tenure.core.job import Enqueued, NewJob, Taken
from tenure.core.lease import Lease, Line
from tenure.core.operations import Replayed
from tenure.core.states import State
from tenure.storage import reading, values
from tenure.storage.draft import Draft
from tenure.storage.identity import Identity
from tenure.storage.postgres import rows
from tenure.storage.postgres.coalesce import Coalescer
from tenure.storage.postgres.draft import PostgresDraft
from tenure.storage.postgres.lines import Lines, line_of
from tenure.storage.postgres.places import Places
from tenure.storage.postgres.pool import Pool
from tenure.storage.postgres.told import Place
from tenure.storage.postgres.wakeups import Along, Switchboard

MOST_A_STATEMENT = 1_000
"""How many coalesced jobs ride on one statement; a single call may bring more."""

PATIENCE = "200ms"
"""How long a statement of many callers waits for somebody who holds a key."""

Run = Callable[..., Awaitable[list[asyncpg.Record]]]
"""Runs a statement, by its name, in a transaction that is open."""

Recording = Callable[[Sequence[NewJob], Sequence[UUID], Sequence[int]], Awaitable[list[asyncpg.Record]]]
"""Runs the statement that records jobs, given their ids and the numbers of their lines."""


_STATES = {state.value: state for state in State}


class _LeaseLost(Exception):
    """The worker that asks for children does not hold their parent."""


class Creation(ABC):
    """Enqueues, replays and spawns."""

    _pool: Pool
    _enqueues: Coalescer[NewJob, Enqueued]
    _lines: Lines
    _hints: Switchboard
    _places: dict[tuple[Line, ...], Places]
    _identity: Identity | None

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        return await self._enqueues.call(jobs)

    async def enqueue_strictly(
        self, jobs: Sequence[NewJob], *, known: Collection[UUID] = ()
    ) -> list[Enqueued] | Taken:
        values.check_batch(jobs)

        async def record(
            jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            async def record_all(run: Run) -> list[asyncpg.Record]:
                recorded = await run("enqueue.record+keys", **rows.asked(jobs, ids, lines, PATIENCE))
                if len(recorded) < len(jobs):
                    found = await run(
                        "enqueue.find", **rows.sought(jobs, ids), **_fresh(_places(recorded), ids)
                    )
                    _require_matching(recorded, found, ids, known)
                return recorded

            return await self._pool.transact(record_all)

        try:
            return await self._enqueue(jobs, record) if jobs else []
        except values.Refused as refused:
            return refused.taken

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        values.check_batch(jobs)
        identity = await self._ids()
        ids = [job.id or identity.make() for job in jobs]
        return PostgresDraft(jobs, rows.asked(jobs, ids, await self._lines.numbers(jobs), None))

    async def spawn(self, worker: str, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued] | None:
        printable("worker", worker, least=1)
        values.check_batch(jobs)

        async def record(
            jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            claim = {"job": lease.job, "fence": lease.fence, "worker": worker}
            columns = rows.asked(jobs, ids, lines, PATIENCE)
            held, *recorded = await self._pool.together(("spawn", claim), ("enqueue.record+keys", columns))
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
        identity = await self._ids()
        wanted = sorted(set(ids))
        new_ids = [identity.make() for _ in wanted]
        asked: dict[str, object] = {
            "ids": wanted,
            "new_ids": new_ids,
            "params": params,
            "forced": forced,
            "key": key,
            "make": make,
        }
        *_, answer = await self._pool.together(("replay.lock", {"ids": wanted}), ("replay.record", asked))
        self._note_queued(row for row in answer if row["fresh"])
        found = {row["job"]: reading.replayed_from(row) for row in answer}
        return [found.get(job) or Replayed(job, None, None, fresh=False) for job in ids]

    @abstractmethod
    async def now(self) -> datetime:
        """The store's time."""

    async def _ids(self) -> Identity:
        if self._identity is None:
            self._identity = Identity(await self.now())
        return self._identity

    def _enqueue(
        self, jobs: Sequence[NewJob], record: Recording | None = None
    ) -> Coroutine[Any, Any, list[Enqueued]]:
        """One statement for the jobs of one or many callers; a second one only where keys were taken."""
        if record is None and len(jobs) == 1 and rows.is_plain(jobs[0]):
            return self._enqueue_one(jobs)
        return self._enqueue_all(jobs, record)

    async def _enqueue_one(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """What most callers bring goes the shortest way."""
        [job] = jobs
        identity = self._identity or await self._ids()
        made = job.id or identity.make()
        line = self._lines.number(job) or (await self._lines.numbers(jobs))[0]
        form = "enqueue.one" if job.key is None and job.id is None else "enqueue.one+keys"
        along = self._hints.along()
        asked = rows.asked_alone(job, made, line, PATIENCE, along and along.text)
        try:
            recorded = await self._ask_alone(form, asked)
        except StoreRefused:
            return await self._enqueue_all(jobs, None)  # which knows what to do where the line is gone
        if not recorded:
            answers: dict[int, Enqueued] = {}
            await self._answer_the_rest(jobs, [made], answers, None)
            return [answers[0]]
        line, rank, is_told = recorded[0]
        self._note({(line, rank): job}, along if is_told else None)
        return [Enqueued(made, State.QUEUED, fresh=True)]

    async def _ask_alone(self, form: str, asked: dict[str, Any]) -> list[asyncpg.Record]:
        """No job waits for its hint, which is left out where others who notify take long to commit."""
        try:
            return await self._pool.ask(form, asked)
        except StoreBusy:
            if asked["hint"] is None:
                raise
            return await self._pool.ask(form, {**asked, "hint": None})

    async def _enqueue_all(self, jobs: Sequence[NewJob], record: Recording | None) -> list[Enqueued]:
        identity = self._identity or await self._ids()
        if record is None and len(jobs) > 1 and rows.are_alike(jobs):
            return await self._enqueue_alike(jobs, identity.make_many(len(jobs)))
        ids = [job.id or identity.make() for job in jobs]
        answers: dict[int, Enqueued] = {}
        recorded = await self._record(jobs, ids, record or self._alone)
        queued: dict[Place, NewJob] = {}
        is_timed = False
        for position, state, line, rank in recorded:
            index = position - 1
            answers[index] = Enqueued(ids[index], _STATES[state], fresh=True)
            if state == "queued":
                queued[line, rank] = jobs[index]
            elif state == "scheduled":
                is_timed = True
        self._note(queued)
        if is_timed:
            self._hints.timed()
        if (written := len(answers)) < len(jobs):
            try:
                await self._answer_the_rest(jobs, ids, answers, record)
            except (StoreError, _LeaseLost, values.Refused) as error:
                if not written:
                    raise
                # To make the call again would make those twice.
                raise StoreUnavailable(f"part of the call was written: {error}", unknown=True) from error
        return [answers[index] for index in range(len(jobs))]

    async def _enqueue_alike(self, jobs: Sequence[NewJob], ids: Sequence[UUID]) -> list[Enqueued]:
        """Nothing that such jobs have can be taken, so that one row answers for all."""

        async def record(
            _first: Sequence[NewJob], _ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            return await self._pool.ask("enqueue.alike", rows.asked_alike(jobs, ids, lines[0]))

        [(line, rank)] = await self._record(jobs[:1], ids[:1], record)
        self._note({(line, rank): jobs[0]})
        return [Enqueued(job, State.QUEUED, fresh=True) for job in ids]

    async def _answer_the_rest(
        self,
        jobs: Sequence[NewJob],
        ids: Sequence[UUID],
        answers: dict[int, Enqueued],
        record: Recording | None,
    ) -> None:
        """Look up who took a key or an id; where that is free again by now, record the job after all."""
        for row in await self._pool.run("enqueue.find", **rows.sought(jobs, ids), **_fresh(answers, ids)):
            found = Enqueued(row["id"], State(row["state"]), fresh=False, matches=row["matches"])
            answers.setdefault(row["position"] - 1, found)
        if missing := [index for index in range(len(jobs)) if index not in answers]:
            recorded = await self._enqueue([jobs[index] for index in missing], record)
            answers.update(zip(missing, recorded, strict=True))

    async def _record(
        self, jobs: Sequence[NewJob], ids: Sequence[UUID], record: Recording
    ) -> list[asyncpg.Record]:
        try:
            return await record(jobs, ids, self._lines.known(jobs) or await self._lines.numbers(jobs))
        except StoreRefused as refusal:
            # A line we had seen is gone: the database was restored or made anew under us.
            if getattr(refusal.__cause__, "column_name", None) != "line":
                raise
            self._lines.forget()
            return await record(jobs, ids, await self._lines.numbers(jobs))

    def _alone(
        self, jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
    ) -> Awaitable[list[asyncpg.Record]]:
        form = "+keys" if any(job.key is not None or job.id is not None for job in jobs) else ""
        return self._pool.ask(f"enqueue.record{form}", rows.asked(jobs, ids, lines, PATIENCE))

    def _note_queued(self, moved: Iterable[asyncpg.Record]) -> None:
        self._note({(row["line"], row["rank"]): None for row in moved})

    def _note(self, noted: Mapping[Place, NewJob | None], told: Along | None = None) -> None:
        """Jobs were put in line at these places, and such jobs where that is known."""
        for known in self._places.values():
            for place, job in noted.items():
                known.add(place, None if job is None else line_of(job))
        if noted:
            self._hints.queued(noted, told=told)


def _places(recorded: Iterable[asyncpg.Record]) -> list[int]:
    return [row["position"] - 1 for row in recorded]


def _fresh(places: Iterable[int], ids: Sequence[UUID]) -> dict[str, Any]:
    """The jobs of a call that were recorded, so that none of them is taken for one that was there before."""
    fresh = sorted(places)
    return {"fresh_ids": [ids[place] for place in fresh], "fresh_positions": [place + 1 for place in fresh]}


def _require_matching(
    recorded: Iterable[asyncpg.Record],
    found: Iterable[asyncpg.Record],
    ids: Sequence[UUID],
    known: Collection[UUID],
) -> None:
    """Raise Refused where a key belongs to something else; StoreBusy where its job is gone meanwhile."""
    answers = {place: Enqueued(ids[place], State.QUEUED, fresh=True) for place in _places(recorded)}
    for row in found:
        first = Enqueued(row["id"], State(row["state"]), fresh=False, matches=row["matches"])
        answers.setdefault(row["position"] - 1, first)
    if len(answers) < len(ids):
        raise StoreBusy("a key was given up at this moment; nothing was written, try again")
    if taken := values.taken([answers[place] for place in range(len(ids))], known):
        raise values.Refused(taken)
