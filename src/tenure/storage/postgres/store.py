"""The PostgreSQL store, verb by verb; what each promises stands in `tenure.storage.contract`."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.bounds import LARGEST_BATCH, MOST_HAND_BACKS, MOST_SUSPENSIONS, printable, whole
from tenure.core.errors import StoreError, StoreRefused, StoreUnavailable
from tenure.core.job import Enqueued, Event, Job, Moved, NewJob, Standing
from tenure.core.lease import Beat, Claimed, Lease, Line, Order, Pulse
from tenure.core.outcome import Attempt, Report, Round, Settled
from tenure.core.states import State
from tenure.core.text import storable
from tenure.storage import values
from tenure.storage.identity import Identity
from tenure.storage.postgres import rows, schema
from tenure.storage.postgres.coalesce import Coalescer
from tenure.storage.postgres.places import Place, Places
from tenure.storage.postgres.pool import Pool

MOST_A_STATEMENT = 1_000
"""How many coalesced jobs ride on one statement; a single call may bring more."""


MOST_ORDERS = 100
"""How many different sets of lines a process remembers the places of."""


class PostgresStore:
    """Jobs in a PostgreSQL database, shared by any number of processes and machines."""

    def __init__(
        self, dsn: str, *, pooled: bool = False, connections: int = 10, timeout: float = 30.0
    ) -> None:
        """`pooled`: a transaction-mode pooler stands in between. `timeout` bounds every statement."""
        self._pool = Pool(dsn, pooled=pooled, size=connections, timeout=timeout)
        self._enqueues = Coalescer(self._enqueue, most=MOST_A_STATEMENT, lanes=2)
        self._known_lines: set[Line] = set()
        self._places: dict[tuple[Line, ...], Places] = {}
        self._identity: Identity | None = None

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._enqueues.close()
        await self._pool.close()

    async def migrate(self) -> list[str]:
        return await self._pool.work(schema.migrate)

    async def verify(self) -> None:
        await self._pool.work(schema.verify)

    async def now(self) -> datetime:
        [row] = await self._pool.run("now")
        moment: datetime = row["now"]
        return moment

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        values.check_batch(jobs)
        if not jobs:
            return []
        return await self._enqueues.call(jobs)

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
        answer = await self._pool.run("accept", ids=sorted(set(ids)))
        self._note_queued(answer)
        return values.standings(ids, answer)

    async def cancel(
        self, ids: Sequence[UUID], *, actor: str = "api", reason: str | None = None
    ) -> list[Standing]:
        answer = await self._pool.run(
            "cancel", ids=sorted(set(ids)), actor=storable(actor), reason=reason and storable(reason)
        )
        return values.standings(ids, answer)

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        return values.standings(ids, await self._pool.run("give_up", ids=sorted(set(ids))))

    async def get(self, job: UUID) -> Job | None:
        found = await self._pool.run("get", job=job)
        return values.job_from(found[0]) if found else None

    async def events(self, job: UUID) -> list[Event]:
        return [values.event_from(row) for row in await self._pool.run("events", job=job)]

    async def attempts(self, job: UUID) -> list[Attempt]:
        return [values.attempt_from(row) for row in await self._pool.run("attempts", job=job)]

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> Round:
        places = await self._look_up(order)
        in_turn = places.in_turn() if order.limit else []
        given = values.reported(reports)
        if not given and not in_turn:
            places.forget()
            return Round(Settled({}, []), [])
        answer = await self._pool.run(
            "settle_and_claim.turn",
            **rows.reports(given),
            worker=order.worker,
            lease_for=order.lease_for,
            limit=order.limit,
            most_suspensions=MOST_SUSPENSIONS,
            lines=[place[0] for place, _ in in_turn],
            ranks=[place[1] for place, _ in in_turn],
            after_seqs=[hint for _, hint in in_turn],
        )
        accepted = values.accepted_from(row for row in answer if row["state"])
        taken = [row for row in answer if not row["state"]]
        return Round(
            values.settled((report.lease for report in reports), accepted), _claimed(taken, places, order)
        )

    async def heartbeat(self, pulse: Pulse) -> Beat:
        held = sorted(set(pulse.leases))
        answer = await self._pool.run(
            "heartbeat",
            **rows.leases(held),
            progress=[values.progress_under(pulse, lease) for lease in held],
            worker=pulse.worker,
            lease_for=pulse.lease_for,
        )
        return values.beat_from(held, answer)

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        printable("worker", worker, least=1)
        given, dead = sorted({*unstarted, *killed}), set(killed)
        answer = await self._pool.run(
            "hand_back",
            **rows.leases(given),
            killed=[lease in dead for lease in given],
            worker=worker,
            most=MOST_HAND_BACKS,
        )
        self._note_queued(answer)
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._pool.run("promote", limit=limit)
        self._note_queued(answer)
        return values.moved_from(answer)

    async def reap(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._pool.run("reap", limit=limit)
        self._note_queued(answer)
        return values.moved_from(answer)

    async def _enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """One statement for the jobs of one or many callers; a second one only where keys were taken."""
        if self._identity is None:
            self._identity = Identity(await self.now())
        lines = values.lines_of(jobs)
        await self._open_lines(lines - self._known_lines)
        ids = [job.id or self._identity.make() for job in jobs]
        columns = rows.asked(jobs, ids)
        answers: dict[int, Enqueued] = {}
        for row in await self._record(lines, columns):
            index = row["position"] - 1
            answers[index] = Enqueued(ids[index], State(row["state"]), fresh=True)
            self._note((row["line"], -jobs[index].priority))
        if len(answers) < len(jobs):
            for row in await self._pool.run("enqueue.find", **columns):
                found = Enqueued(row["id"], State(row["state"]), fresh=False, matches=row["matches"])
                answers.setdefault(row["position"] - 1, found)
        if missing := [index for index in range(len(jobs)) if index not in answers]:
            answers.update(
                zip(missing, await self._once_more([jobs[index] for index in missing]), strict=True)
            )
        return [answers[index] for index in range(len(jobs))]

    async def _once_more(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """For those whose key or id was taken a moment ago and is free again."""
        try:
            return await self._enqueue(jobs)
        except StoreError as error:
            # The others of the call are written by now: to make the call again would make them twice.
            raise StoreUnavailable(f"part of the call was written: {error}", unknown=True) from error

    async def _record(self, lines: set[Line], columns: dict[str, list[Any]]) -> list[asyncpg.Record]:
        try:
            return await self._pool.run("enqueue.record", **columns)
        except StoreRefused as refusal:
            # A line we had seen is gone: the database was restored or made anew under us.
            if getattr(refusal.__cause__, "column_name", None) != "line":
                raise
            self._known_lines.clear()
            await self._open_lines(lines)
            return await self._pool.run("enqueue.record", **columns)

    async def _open_lines(self, unknown: set[Line]) -> None:
        if unknown:
            await self._pool.run("enqueue.lines", **rows.lines(unknown))
            self._known_lines |= unknown
            for places in self._places.values():
                places.forget()

    def _note_queued(self, moved: Iterable[asyncpg.Record]) -> None:
        for row in moved:
            self._note((row["line"], row["rank"]))

    def _note(self, place: Place) -> None:
        for places in self._places.values():
            places.add(place)

    async def _look_up(self, order: Order) -> Places:
        if len(self._places) > MOST_ORDERS:
            self._places.clear()
        places = self._places.setdefault(order.lines, Places())
        if order.limit and places.are_stale:
            found = await self._pool.run("settle_and_claim.places", **rows.lines(order.lines))
            places.learn(
                {row["line"]: Line(row["queue"], row["definition"], row["version"]) for row in found},
                [(row["line"], row["rank"]) for row in found if row["rank"] is not None],
            )
        return places


def _claimed(taken: list[asyncpg.Record], places: Places, order: Order) -> list[Claimed]:
    last: dict[Place, int] = {}
    for row in taken:
        place = (row["line"], row["rank"])
        last[place] = max(last.get(place, 0), row["seq"])
    places.claimed(last, short=len(taken) < order.limit)
    taken.sort(key=lambda row: (row["rank"], row["seq"]))
    return [values.claimed_from(row, places.lines[row["line"]]) for row in taken]
