"""The verbs of the PostgreSQL store about what jobs are suspended for: signals, answers, times."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from tenure.core.errors import DataRefused
from tenure.core.model.durable import (
    MOST_SIGNALS,
    Answered,
    DoubtfulEffect,
    EffectAnswer,
    OpenWait,
    Signal,
    Signalled,
    Standings,
    Suspension,
)
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_PAGE, MOST_SUSPENSIONS, printable, whole
from tenure.storage.mapping import durable as mapping
from tenure.storage.postgres import rows
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction

Records = list[asyncpg.Record]


class DurableWaits(Database):
    """Suspends jobs, and resumes them when what they wait for has come."""

    async def suspend(self, worker: str, suspensions: Sequence[Suspension]) -> Standings:
        printable("worker", worker, least=1)
        given = mapping.first_suspensions(suspensions)
        if not given:
            return {}
        try:
            return await self._suspend(worker, given)
        except DataRefused:
            if len(given) == 1:
                return {}  # its lease runs out, and the reaper puts the job aside
        standings = [await self.suspend(worker, [one]) for one in given]
        return {lease: state for some in standings for lease, state in some.items()}

    async def _suspend(self, worker: str, given: Sequence[Suspension]) -> Standings:
        columns = {**rows.suspensions(given), "worker": worker, "most_suspensions": MOST_SUSPENSIONS}

        async def move(run: Transaction) -> tuple[Records, Records]:
            await run("suspend.lock", jobs=columns["jobs"])
            moved = await run("suspend.move", **columns)
            waiting = [row["job"] for row in moved if row["state"] == State.SUSPENDED]
            return moved, await run("rouse", jobs=waiting, actor=worker) if waiting else []

        moved, roused = await self._pool.transact(move)
        if moved:
            self._scans.note_room()  # attempts ended outside a turn, so no turn counts the room they leave
        self._note_ended(moved)
        self._note_queued(roused)
        if len(roused) < len(moved):
            self._wakeups.timed()
        return mapping.standings_from(moved, roused)

    async def signal(self, job: UUID, signal: Signal) -> Signalled | None:
        told = {"job": job, "name": signal.name, "by": signal.by, "body": signal.body, "most": MOST_SIGNALS}
        kept, roused = await self._tell("signal", job, signal.by, told)
        return mapping.signalled_from(kept, roused)

    async def answer(self, job: UUID, answer: EffectAnswer) -> Answered | None:
        told = {"job": job, **mapping.answer_columns(answer)}
        recorded, roused = await self._tell("answer", job, answer.by, told)
        return mapping.answered_from(recorded, roused)

    async def _tell(
        self, statement: str, job: UUID, by: str, told: dict[str, object]
    ) -> tuple[Records, Records]:
        """Lock the job's row; then look and write with a snapshot that has what the lock has waited for."""

        async def tell(run: Transaction) -> tuple[Records, Records]:
            if not await run("keep_steps.lock", job=job):
                return [], []
            return await run(statement, **told), await run("rouse", jobs=[job], actor=by)

        written, roused = await self._pool.transact(tell)
        self._note_queued(roused)
        return written, roused

    async def open_waits(self, jobs: Sequence[UUID]) -> dict[UUID, OpenWait]:
        found = await self._pool.run("open_waits", jobs=sorted(set(jobs)))
        return {row["job"]: mapping.wait_from(row) for row in found}

    async def signals(self, job: UUID) -> list[Signal]:
        return [mapping.signal_from(row) for row in await self._pool.run("signals", job=job)]

    async def effects_in_doubt(
        self, *, namespace: str | None = None, job: UUID | None = None, limit: int = 50
    ) -> list[DoubtfulEffect]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("effects_in_doubt", namespace=namespace, job=job, limit=limit)
        return [mapping.effect_from(row) for row in found]
