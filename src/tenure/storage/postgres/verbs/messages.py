"""The verbs of the PostgreSQL store about messages that name jobs."""

from datetime import timedelta
from uuid import UUID

from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.mapping import messages as mapping
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction


class MessageVerbs(Database):
    """Which queues lead which workers, and which jobs to name once more."""

    async def note_receiver(self, worker: str, queue: str, problem: str | None) -> None:
        columns = mapping.receiver_columns(worker, queue, problem)

        async def note(run: Transaction) -> None:
            await run("note_receiver.queue", queue=columns["queue"])
            await run("note_receiver.worker", **columns)

        await self._pool.transact(note)

    async def remind(self, queue: str, *, after: timedelta, every: timedelta, limit: int) -> list[UUID]:
        whole("limit", limit, 1, LARGEST_BATCH)

        async def search(run: Transaction) -> list[UUID]:
            if not await run("remind.turn", queue=queue, every=every):
                return []
            late = await run(
                "remind.jobs", queue=queue, after=after, alive=WORKER_ALIVE, heads=mapping.HEADS, limit=limit
            )
            await run("remind.tidy", limit=limit)
            return sorted(row["job"] for row in late)

        return await self._pool.transact(search)
