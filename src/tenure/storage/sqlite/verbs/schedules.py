"""The verbs of the SQLite store about schedules."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import apsw
import msgspec

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.reports.operations import WORKER_ALIVE
from tenure.core.schedule.backlog import Gap
from tenure.core.schedule.schedule import (
    DueSchedule,
    Firing,
    KnownSchedule,
    NewSchedule,
    Overlap,
    Schedule,
    ScheduleName,
    Tick,
    TickOnRecord,
    TickOutcome,
    TickPlace,
    TroubledSchedule,
    UnreadableSchedule,
)
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_PAGE, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import schedules as mapping
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.verbs.creation import Creation

_ids = msgspec.json.Decoder(list[UUID]).decode


class ScheduleVerbs(Creation):
    """Keeps schedules, and lets them fire."""

    async def add_schedule(
        self, new: NewSchedule, *, next_at: datetime | None, by: str = "api"
    ) -> Schedule | None:
        return _written(
            await self._write(
                "add_schedule",
                **mapping.columns(new),
                next_at=_micros(next_at),
                is_paused=new.is_paused,
                by=storable(by),
            )
        )

    async def change_schedule(
        self,
        read: Schedule,
        changed: NewSchedule,
        *,
        next_at: datetime | None,
        recounts: bool = False,
        seen_at: datetime | None = None,
        missed: Gap | None = None,
    ) -> Schedule | None:
        named = {"namespace": changed.namespace, "name": changed.id}
        columns = {
            **mapping.columns(changed),
            "recounts": recounts,
            "revision": read.revision,
            "expected": _micros(read.next_at),
            "next_at": _micros(next_at),
            "noted_from": None if missed is None else _micros(missed.first),
        }

        def change(connection: apsw.Connection, turn: TransactionTime) -> list[dict[str, Any]]:
            def run(part: str, **given: object) -> list[dict[str, Any]]:
                return self._scripts.one(connection, f"change_schedule.{part}", **turn._asdict(), **given)

            if missed is not None:
                run("missed", **named, revision=read.revision, **_gap(missed))
            found = run("change", **columns, seen_at=_micros(seen_at) or turn.now)
            if found and changed.overlap is not Overlap.ALLOW:
                run("open", **named)
            return found

        return _written(await self._writer.run(change))

    async def schedule(self, name: ScheduleName) -> KnownSchedule | None:
        found = await self._read("schedule", mapping.schedule_from, **name._asdict())
        return found[0] if found else None

    async def schedules(
        self,
        *,
        namespace: str | None = None,
        definition: str | None = None,
        after: ScheduleName | None = None,
        limit: int = 50,
    ) -> list[KnownSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        return await self._read(
            "schedules",
            mapping.schedule_from,
            namespace=namespace,
            definition=definition,
            after_namespace=after.namespace if after else "",
            after_name=after.name if after else "",
            limit=limit,
        )

    async def next_schedules(self, *, limit: int = 5) -> list[KnownSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        return await self._read("next_schedules", mapping.schedule_from, limit=limit)

    async def repetition(self, task: str, *, namespace: str | None = None) -> KnownSchedule | None:
        found = await self._read("repetition", mapping.schedule_from, name=task, namespace=namespace)
        return found[0] if found else None

    async def repetitions(self, namespace: str, *, most: int) -> int:
        [count] = await self._read("repetitions", lambda row: int(row["n"]), namespace=namespace, most=most)
        return count

    async def announce_schedule(self, name: ScheduleName, *, worker: str) -> None:
        await self._write("announce_schedule", **name._asdict(), worker=storable(worker))

    async def delete_schedule(self, name: ScheduleName) -> bool:
        def delete(connection: apsw.Connection, _turn: TransactionTime) -> bool:
            gone = self._scripts.one(connection, "delete_schedule.schedule", **name._asdict())
            self._scripts.one(connection, "delete_schedule.ticks", **name._asdict())
            return bool(gone)

        return await self._writer.run(delete)

    async def pause_schedule(
        self, name: ScheduleName, *, by: str = "api", reason: str | None = None
    ) -> KnownSchedule | None:
        return _first(
            await self._write(
                "pause_schedule", **name._asdict(), by=storable(by), reason=reason and storable(reason)
            )
        )

    async def resume_schedule(
        self, read: Schedule, *, next_at: datetime | None, missed: Gap | None = None
    ) -> Schedule | None:
        name = read.name._asdict()

        def resume(connection: apsw.Connection, turn: TransactionTime) -> list[dict[str, Any]]:
            moved = self._scripts.one(
                connection,
                "resume_schedule.move",
                **turn._asdict(),
                **name,
                revision=read.revision,
                expected=_micros(read.next_at),
                next_at=_micros(next_at),
            )
            if moved and missed is not None:
                self._scripts.one(
                    connection, "resume_schedule.missed", **turn._asdict(), **name, **_gap(missed)
                )
            return moved

        return _written(await self._writer.run(resume))

    async def abort_schedule(self, name: ScheduleName, *, by: str = "api") -> KnownSchedule | None:
        return _first(await self._write("abort_schedule", **name._asdict(), by=storable(by)))

    async def due_schedules(self, limit: int = 100) -> list[DueSchedule | UnreadableSchedule]:
        whole("limit", limit, 1, LARGEST_BATCH)
        found = await self._write(
            "due_schedules", limit=limit, alone=rows.left_alone(self._left_alone.entries())
        )
        due = [mapping.due_from(row, _ids(row["open_jobs"])) for row in found]
        for one in due:
            if isinstance(one, UnreadableSchedule):
                self._left_alone.add(one)
        return due

    async def fire(self, firings: Sequence[Firing]) -> list[list[Enqueued] | None]:
        jobs = [tick.job for firing in firings for tick in firing.ticks if tick.job is not None]
        new = iter(await self._new_rows(jobs))
        prepared = [
            (firing, [next(new) if tick.job is not None else None for tick in firing.ticks])
            for firing in firings
        ]

        def fire(connection: apsw.Connection, turn: TransactionTime) -> list[list[Enqueued] | None]:
            return [self._fire(connection, turn, firing, made) for firing, made in prepared]

        return await self._writer.run(fire, rows=len(jobs))

    async def trigger_schedule(
        self, name: ScheduleName, job: NewJob, *, revision: int, is_open: bool
    ) -> Tick | None:
        [new] = await self._new_rows([job])

        def trigger(connection: apsw.Connection, turn: TransactionTime) -> list[dict[str, Any]]:
            noted = self._scripts.one(
                connection,
                "trigger_schedule",
                **turn._asdict(),
                **name._asdict(),
                job=str(new.id),
                revision=revision,
                is_open=is_open,
            )
            if noted:
                self._enqueue(connection, turn, [new])
            return noted

        for row in await self._writer.run(trigger):
            return Tick(at=row["at"], outcome=TickOutcome.BY_HAND, job=new.id, noted_at=row["noted_at"])
        return None

    async def troubled_schedules(self, limit: int = 20) -> list[TroubledSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        alive = rows.duration(WORKER_ALIVE)
        return await self._read("troubled_schedules", mapping.troubled_from, limit=limit, alive=alive)

    async def ticks(
        self, name: ScheduleName, *, before: TickPlace | None = None, limit: int = 50
    ) -> list[TickOnRecord]:
        whole("limit", limit, 1, LARGEST_PAGE)
        place = {"before": _micros(before and before.at), "before_by_hand": before and before.is_by_hand}
        return await self._read("ticks", mapping.tick_from, **name._asdict(), **place, limit=limit)

    async def recent_ticks(
        self, names: Collection[ScheduleName], *, limit: int = 30
    ) -> dict[ScheduleName, list[TickOnRecord]]:
        whole("limit", limit, 1, LARGEST_PAGE)
        whole("names", len(names), 0, LARGEST_PAGE)
        written = msgspec.json.encode([tuple(one) for one in names]).decode()
        found = await self._read("recent_ticks", lambda row: row, names=written, limit=limit)
        return mapping.recent_ticks_from(found, limit)

    def _fire(
        self,
        connection: apsw.Connection,
        turn: TransactionTime,
        firing: Firing,
        made: Sequence[rows.NewJobRow | None],
    ) -> list[Enqueued] | None:
        name = {"namespace": firing.namespace, "schedule": firing.schedule}
        if not self._scripts.one(
            connection,
            "fire.move",
            **name,
            revision=firing.revision,
            expected=_micros(firing.expected),
            next_at=_micros(firing.next_at),
            last_at=_micros(firing.last_at),
            last_outcome=firing.last_outcome,
        ):
            return None
        self._scripts.one(connection, "fire.close", **name)
        jobs = []
        for tick, new in zip(firing.ticks, made, strict=True):
            noted = self._scripts.one(
                connection,
                "fire.tick",
                **turn._asdict(),
                **name,
                at=_micros(tick.at),
                outcome=tick.outcome.value,
                job=new and str(new.id),
                n=tick.count,
                until=_micros(tick.until),
                problem=tick.problem and storable(tick.problem),
                is_open=new is not None and firing.tracks_jobs,
            )
            if noted and new is not None:
                jobs.append(new)
        self._scripts.one(connection, "fire.count", **name, made=len(jobs))
        return self._enqueue(connection, turn, jobs) if jobs else []


def _first(found: Sequence[dict[str, Any]]) -> KnownSchedule | None:
    return mapping.schedule_from(found[0]) if found else None


def _written(found: Sequence[dict[str, Any]]) -> Schedule | None:
    return mapping.written_from(found[0]) if found else None


def _gap(missed: Gap) -> dict[str, Any]:
    return {"at": _micros(missed.first), "until": _micros(missed.last), "n": missed.count}


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else rows.micros(moment)
