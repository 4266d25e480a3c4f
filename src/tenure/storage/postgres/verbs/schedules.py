"""The verbs of the PostgreSQL store about schedules."""

from collections.abc import Awaitable, Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
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
    with_ids,
)
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_PAGE, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import schedules as mapping
from tenure.storage.postgres import rows
from tenure.storage.postgres.verbs.creation import PATIENCE, Creation, Run
from tenure.storage.postgres.verbs.volley import Volley


class ScheduleVerbs(Creation):
    """Keeps schedules, and lets them fire."""

    async def add_schedule(
        self, new: NewSchedule, *, next_at: datetime | None, by: str = "api"
    ) -> Schedule | None:
        added = await self._pool.run(
            "add_schedule", **mapping.columns(new), next_at=next_at, is_paused=new.is_paused, by=storable(by)
        )
        return self._changed(added)

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
            "expected": read.next_at,
            "next_at": next_at,
            "seen_at": seen_at or await self.now(),
            "noted_from": missed and missed.first,
        }

        async def change(run: Run) -> list[asyncpg.Record]:
            if missed is not None:
                await run("change_schedule.missed", **named, revision=read.revision, **_gap(missed))
            found = await run("change_schedule.change", **columns)
            if found and changed.overlap is not Overlap.ALLOW:
                await run("change_schedule.open", **named)
            return found

        return self._changed(await self._pool.transact(change))

    async def schedule(self, name: ScheduleName) -> KnownSchedule | None:
        return _first(await self._pool.run("schedule", **name._asdict()))

    async def schedules(
        self,
        *,
        namespace: str | None = None,
        definition: str | None = None,
        after: ScheduleName | None = None,
        limit: int = 50,
    ) -> list[KnownSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run(
            "schedules",
            namespace=namespace,
            definition=definition,
            after_namespace=after.namespace if after else "",
            after_name=after.name if after else "",
            limit=limit,
        )
        return [mapping.schedule_from(row) for row in found]

    async def next_schedules(self, *, limit: int = 5) -> list[KnownSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("next_schedules", limit=limit)
        return [mapping.schedule_from(row) for row in found]

    async def repetition(self, task: str, *, namespace: str | None = None) -> KnownSchedule | None:
        return _first(await self._pool.run("repetition", name=task, namespace=namespace))

    async def repetitions(self, namespace: str, *, most: int) -> int:
        [row] = await self._pool.run("repetitions", namespace=namespace, most=most)
        count: int = row["n"]
        return count

    async def announce_schedule(self, name: ScheduleName, *, worker: str) -> None:
        await self._pool.run("announce_schedule", **name._asdict(), worker=storable(worker))

    async def delete_schedule(self, name: ScheduleName) -> bool:
        values: dict[str, object] = name._asdict()
        gone, *_ = await self._pool.run_all(
            ("delete_schedule.schedule", values), ("delete_schedule.ticks", values)
        )
        return bool(gone)

    async def pause_schedule(
        self, name: ScheduleName, *, by: str = "api", reason: str | None = None
    ) -> KnownSchedule | None:
        return _first(
            await self._pool.run(
                "pause_schedule", **name._asdict(), by=storable(by), reason=reason and storable(reason)
            )
        )

    async def resume_schedule(
        self, read: Schedule, *, next_at: datetime | None, missed: Gap | None = None
    ) -> Schedule | None:
        name = read.name._asdict()

        async def resume(run: Run) -> list[asyncpg.Record]:
            moved = await run(
                "resume_schedule.move",
                **name,
                revision=read.revision,
                expected=read.next_at,
                next_at=next_at,
            )
            if moved and missed is not None:
                await run("resume_schedule.missed", **name, **_gap(missed))
            return moved

        return self._changed(await self._pool.transact(resume))

    async def abort_schedule(self, name: ScheduleName, *, by: str = "api") -> KnownSchedule | None:
        return _first(await self._pool.run("abort_schedule", **name._asdict(), by=storable(by)))

    async def due_schedules(self, limit: int = 100) -> list[DueSchedule | UnreadableSchedule]:
        whole("limit", limit, 1, LARGEST_BATCH)
        found = await self._pool.run("due_schedules", limit=limit, **self._left_alone.columns())
        due = [mapping.due_from(row, row["open_jobs"]) for row in found]
        for one in due:
            if isinstance(one, UnreadableSchedule):
                self._left_alone.add(one)
        return due

    async def fire(self, firings: Sequence[Firing]) -> list[list[Enqueued] | None]:
        identity = await self._load_identity()
        volley = Volley([with_ids(one, identity.make) for one in firings])

        def record(
            jobs: Sequence[NewJob], _ids: Sequence[UUID], lines: Sequence[int]
        ) -> Awaitable[list[asyncpg.Record]]:
            placed = dict(zip([job.id for job in jobs], lines, strict=True))
            return self._pool.transact(lambda run: volley.fire(run, placed))

        recorded = await self._record(volley.jobs, [], record)
        self._note_recorded(volley.made, volley.made_ids, recorded)
        self._wakeups.timed()
        return volley.answers({row["position"]: State(row["state"]) for row in recorded})

    async def trigger_schedule(
        self, name: ScheduleName, job: NewJob, *, revision: int, is_open: bool
    ) -> Tick | None:
        asked = {**name._asdict(), "revision": revision, "is_open": is_open}
        noted: list[asyncpg.Record] = []
        identity = await self._load_identity()
        job_id = job.id or identity.make()

        async def record(
            jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int]
        ) -> list[asyncpg.Record]:
            async def trigger(run: Run) -> list[asyncpg.Record]:
                noted[:] = await run("trigger_schedule", **asked, job=job_id)
                if not noted:
                    return []
                return await run("enqueue.record", **rows.new_jobs(jobs, ids, lines, PATIENCE))

            return await self._pool.transact(trigger)

        self._note_recorded([job], [job_id], await self._record([job], [job_id], record))
        if not noted:
            return None
        [row] = noted
        return Tick(at=row["at"], outcome=TickOutcome.BY_HAND, job=job_id, noted_at=row["noted_at"])

    async def troubled_schedules(self, limit: int = 20) -> list[TroubledSchedule]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("troubled_schedules", limit=limit, alive=WORKER_ALIVE)
        return [mapping.troubled_from(row) for row in found]

    async def ticks(
        self, name: ScheduleName, *, before: TickPlace | None = None, limit: int = 50
    ) -> list[TickOnRecord]:
        whole("limit", limit, 1, LARGEST_PAGE)
        place = {"before": before and before.at, "before_by_hand": before and before.is_by_hand}
        found = await self._pool.run("ticks", **name._asdict(), **place, limit=limit)
        return [mapping.tick_from(row) for row in found]

    async def recent_ticks(
        self, names: Collection[ScheduleName], *, limit: int = 30
    ) -> dict[ScheduleName, list[TickOnRecord]]:
        whole("limit", limit, 1, LARGEST_PAGE)
        whole("names", len(names), 0, LARGEST_PAGE)
        namespaces, of_them = [one.namespace for one in names], [one.name for one in names]
        found = await self._pool.run("recent_ticks", namespaces=namespaces, names=of_them, limit=limit)
        return mapping.recent_ticks_from(found, limit)

    def _changed(self, found: Sequence[asyncpg.Record]) -> Schedule | None:
        """Other processes may have to look at the clock sooner than they think."""
        if found:
            self._wakeups.timed()
        return mapping.written_from(found[0]) if found else None


def _first(found: Sequence[asyncpg.Record]) -> KnownSchedule | None:
    return mapping.schedule_from(found[0]) if found else None


def _gap(missed: Gap) -> dict[str, Any]:
    return {"at": missed.first, "until": missed.last, "n": missed.count}
