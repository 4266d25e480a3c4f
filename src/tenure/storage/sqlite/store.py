"""The SQLite store, verb by verb; what each promises stands in `tenure.storage.contract`."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import msgspec

from tenure.core.bounds import LARGEST_BATCH, MOST_HAND_BACKS, MOST_SUSPENSIONS, printable, whole
from tenure.core.job import Enqueued, Event, Job, Moved, NewJob, Standing
from tenure.core.lease import Beat, Lease, Line, Order, Pulse
from tenure.core.outcome import Attempt, Report, Round, Settled
from tenure.core.states import State
from tenure.core.text import storable
from tenure.storage import values
from tenure.storage.identity import Identity
from tenure.storage.sqlite import rows, schema
from tenure.storage.sqlite.readers import Readers
from tenure.storage.sqlite.scripts import Scripts
from tenure.storage.sqlite.writer import Writer

Rows = list[dict[str, Any]]


class SqliteStore:
    """Jobs in one file, shared by any number of processes of one machine."""

    def __init__(self, path: Path | str, *, timeout: float = 15.0) -> None:
        """`timeout` bounds, in seconds, how long a write waits for other processes."""
        self._path = Path(path)
        self._scripts = Scripts()
        self._writer = Writer(self._path, patience=timeout)
        self._readers = Readers(self._path)
        self._identity: Identity | None = None
        self._turn = 0

    async def open(self) -> None:
        await self._writer.open()
        self._readers.open()

    async def close(self) -> None:
        await self._writer.close()
        await self._readers.close()

    async def migrate(self) -> list[str]:
        return await self._writer.run(schema.migrate)

    async def verify(self) -> None:
        await self._writer.run(schema.verify)

    async def now(self) -> datetime:
        return rows.moment(await self._writer.run(lambda _, now: now))

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        return (
            await self._writer.run(lambda connection, now: self._enqueue(connection, now, jobs))
            if jobs
            else []
        )

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
        return values.standings(ids, await self._run("accept", _ids(ids)))

    async def cancel(
        self, ids: Sequence[UUID], *, actor: str = "api", reason: str | None = None
    ) -> list[Standing]:
        return values.standings(
            ids,
            await self._run("cancel", _ids(ids), actor=storable(actor), reason=reason and storable(reason)),
        )

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        return values.standings(ids, await self._run("give_up", _ids(ids)))

    async def get(self, job: UUID) -> Job | None:
        found = await self._read("get", job)
        return values.job_from(found[0]) if found else None

    async def events(self, job: UUID) -> list[Event]:
        return [values.event_from(row) for row in await self._read("events", job)]

    async def attempts(self, job: UUID) -> list[Attempt]:
        return [values.attempt_from(row) for row in await self._read("attempts", job)]

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> Round:
        self._turn += bool(order.limit)
        answer = await self._run(
            "settle_and_claim",
            rows.reports(values.reported(reports)),
            worker=order.worker,
            lease_for=rows.duration(order.lease_for),
            limit=order.limit,
            most_suspensions=MOST_SUSPENSIONS,
            lines=msgspec.json.encode(
                [(line.queue, line.definition, line.version) for line in order.lines]
            ).decode(),
            turn=self._turn,
        )
        return Round(
            values.settled(
                (report.lease for report in reports),
                values.accepted_from(row for row in answer if row["state"]),
            ),
            [
                values.claimed_from(row, Line(row["queue"], row["definition"], row["version"]))
                for row in answer
                if not row["state"]
            ],
        )

    async def heartbeat(self, pulse: Pulse) -> Beat:
        held = sorted(set(pulse.leases))
        answer = await self._run(
            "heartbeat",
            [(str(lease.job), lease.fence, values.progress_under(pulse, lease)) for lease in held],
            worker=pulse.worker,
            lease_for=rows.duration(pulse.lease_for),
        )
        return values.beat_from(held, answer)

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        printable("worker", worker, least=1)
        given, dead = sorted({*unstarted, *killed}), set(killed)
        answer = await self._run(
            "hand_back",
            [(str(lease.job), lease.fence, lease in dead) for lease in given],
            worker=worker,
            most=MOST_HAND_BACKS,
        )
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        return values.moved_from(await self._run("promote", limit=limit))

    async def reap(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        return values.moved_from(await self._run("reap", limit=limit))

    async def _run(self, verb: str, given: Sequence[tuple[Any, ...]] = (), **named: object) -> Rows:
        return await self._writer.run(
            lambda connection, now: self._scripts.run(connection, verb, given, now=now, **named)
        )

    async def _read(self, statement: str, job: UUID) -> Rows:
        found = await self._readers.run(self._scripts.statements[statement], job=str(job))
        return [rows.native(row) for row in found]

    def _enqueue(self, connection: apsw.Connection, now: int, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Runs in the writer's thread, which is therefore the one place where ids are made."""
        if self._identity is None:
            self._identity = Identity(rows.moment(now))
        ids = [job.id or self._identity.make() for job in jobs]
        asked = rows.asked(jobs, ids)
        fresh = {
            row["position"] - 1: Enqueued(ids[row["position"] - 1], State(row["state"]), fresh=True)
            for row in self._scripts.run(connection, "enqueue", asked, now=now, count=len(jobs))
        }
        return [
            fresh.get(index)
            or self._find(connection, job, ids[index])
            or self._enqueue(connection, now, [job])[0]
            for index, job in enumerate(jobs)
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
        ):
            return Enqueued(row["id"], State(row["state"]), fresh=False, matches=bool(row["matches"]))
        return None


def _ids(ids: Sequence[UUID]) -> list[tuple[str]]:
    return [(str(job),) for job in sorted(set(ids))]
