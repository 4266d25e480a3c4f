"""The verbs of the SQLite store about what jobs are suspended for: signals, answers, times."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import apsw

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
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database, Rows
from tenure.storage.sqlite.verbs.webhooks import written_ids


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
        columns = rows.suspensions(given)

        def move(connection: apsw.Connection, turn: TransactionTime) -> Standings:
            named = {**turn._asdict(), "worker": worker, "most_suspensions": MOST_SUSPENSIONS}
            moved = self._scripts.run(connection, "suspend", columns, **named)
            waiting = [row["job"] for row in moved if row["state"] == State.SUSPENDED]
            return mapping.standings_from(moved, self._rouse(connection, turn, waiting, worker))

        return await self._writer.run(move)

    async def signal(self, job: UUID, signal: Signal) -> Signalled | None:
        columns = {"job": str(job), "name": signal.name, "body": signal.body, "most": MOST_SIGNALS}

        def keep(connection: apsw.Connection, turn: TransactionTime) -> Signalled | None:
            told = self._scripts.one(connection, "signal.told", **columns)
            if told and told[0]["delivered"] == mapping.KEPT:
                self._scripts.one(connection, "signal.keep", **columns, now=turn.now, by=signal.by)
            return mapping.signalled_from(told, self._rouse(connection, turn, [job], signal.by))

        return await self._writer.run(keep)

    async def answer(self, job: UUID, answer: EffectAnswer) -> Answered | None:
        columns: dict[str, Any] = {"job": str(job), **mapping.answer_columns(answer)}
        body = columns["body"]
        columns["size"] = None if body is None else len(body.encode())

        def put(connection: apsw.Connection, turn: TransactionTime) -> Answered | None:
            told = self._scripts.one(connection, "answer.told", **columns)
            if told and told[0]["verdict"] == mapping.RECORDED:
                for part in ("count", "put"):
                    self._scripts.one(connection, f"answer.{part}", **columns, now=turn.now)
            return mapping.answered_from(told, self._rouse(connection, turn, [job], answer.by))

        return await self._writer.run(put)

    def _rouse(
        self, connection: apsw.Connection, turn: TransactionTime, jobs: Sequence[UUID], actor: str
    ) -> Rows:
        given = [(str(job),) for job in sorted(jobs)]
        return self._scripts.run(connection, "rouse", given, **turn._asdict(), actor=actor) if given else []

    async def open_waits(self, jobs: Sequence[UUID]) -> dict[UUID, OpenWait]:
        found = await self._read("open_waits", mapping.wait_from, jobs=written_ids(jobs))
        return {wait.job: wait for wait in found}

    async def signals(self, job: UUID) -> list[Signal]:
        return await self._read("signals", mapping.signal_from, job=str(job))

    async def effects_in_doubt(
        self, *, namespace: str | None = None, job: UUID | None = None, limit: int = 50
    ) -> list[DoubtfulEffect]:
        whole("limit", limit, 1, LARGEST_PAGE)
        named = {"namespace": namespace, "job": job and str(job), "limit": limit}
        return await self._read("effects_in_doubt", mapping.effect_from, **named)
