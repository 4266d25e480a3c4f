"""The verbs of the SQLite store about messages that name jobs."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import apsw

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.mapping import messages as mapping
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database, Rows


class MessageVerbs(Database):
    """Which queues lead which workers, and which jobs to name once more."""

    async def note_receiver(self, worker: str, queue: str, problem: str | None) -> None:
        columns = mapping.receiver_columns(worker, queue, problem)

        def note(connection: apsw.Connection, turn: TransactionTime) -> None:
            for part in ("queue", "worker"):
                self._scripts.one(connection, f"note_receiver.{part}", now=turn.now, **columns)

        await self._writer.run(note)

    async def remind(self, queue: str, *, after: timedelta, every: timedelta, limit: int) -> list[UUID]:
        whole("limit", limit, 1, LARGEST_BATCH)

        def search(connection: apsw.Connection, turn: TransactionTime) -> list[UUID]:
            def run(part: str, **named: Any) -> Rows:
                return self._scripts.one(connection, f"remind.{part}", now=turn.now, **named)

            if not run("turn", queue=queue, every=rows.duration(every)):
                return []
            late: list[UUID] = []
            terms = {"after": rows.duration(after), "heads": mapping.HEADS}
            for row in run("lines", queue=queue, alive=rows.duration(WORKER_ALIVE)):
                if len(late) < limit:
                    found = run("jobs", line=row["line"], **terms, limit=limit - len(late))
                    late += [one["job"] for one in found]
            run("old", limit=limit)
            run("gone")
            return sorted(late)

        return await self._writer.run(search)
