"""The SQLite store; `tenure.storage.contract.store` says what each verb promises.

Here are the verbs that move jobs one by one; `verbs/` has the others by subject.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from msgspec.structs import replace

from tenure.core.errors import DataRefused
from tenure.core.model.job import JobStanding, StepTaken, check_time
from tenure.core.model.lease import Beat, Lease, Line, Presence, Pulse
from tenure.core.model.outcome import Settled
from tenure.core.model.states import UNFINISHED, State
from tenure.core.reports.reading import Outlook
from tenure.core.values.bounds import LARGEST_BATCH, MOST_HAND_BACKS, printable, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import values
from tenure.storage.mapping.job_rows import written_names
from tenure.storage.mapping.reading import written_lines
from tenure.storage.mapping.return_steps import REAPER
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.connection import Durability, Opening
from tenure.storage.sqlite.verbs import bisection
from tenure.storage.sqlite.verbs.access import Access
from tenure.storage.sqlite.verbs.claims_by_id import ClaimsById
from tenure.storage.sqlite.verbs.deliveries import DeliveryVerbs
from tenure.storage.sqlite.verbs.durable_steps import DurableSteps
from tenure.storage.sqlite.verbs.durable_waits import DurableWaits
from tenure.storage.sqlite.verbs.health import Inspection
from tenure.storage.sqlite.verbs.messages import MessageVerbs
from tenure.storage.sqlite.verbs.operations import Operations
from tenure.storage.sqlite.verbs.overview import Overview
from tenure.storage.sqlite.verbs.reading import Reading
from tenure.storage.sqlite.verbs.repairs import Mending
from tenure.storage.sqlite.verbs.retention import RetentionVerbs
from tenure.storage.sqlite.verbs.schedules import ScheduleVerbs
from tenure.storage.sqlite.verbs.trails import Trails
from tenure.storage.sqlite.verbs.turn import Turn


class SqliteStore(
    ScheduleVerbs,
    DeliveryVerbs,
    Turn,
    ClaimsById,
    MessageVerbs,
    Reading,
    Overview,
    Operations,
    RetentionVerbs,
    Trails,
    DurableSteps,
    DurableWaits,
    Access,
    Inspection,
    Mending,
):
    """Jobs in one file, shared by any number of processes on one machine."""

    def __init__(
        self,
        path: Path | str,
        *,
        timeout: float = 15.0,
        durability: Durability = "full",
        create: bool = True,
        vfs: str | None = None,
    ) -> None:
        """`timeout` bounds, in seconds, how long opening or a write waits for other processes.

        With `durability="normal"` commits are not synced one by one: a power cut may undo the last ones,
        though acknowledged. `create`: the file is created if it does not exist. `vfs` names the layer through
        which SQLite reaches the file, if not its default.
        """
        super().__init__(path, Opening(timeout, durability, vfs), create=create)

    async def accept(self, ids: Sequence[UUID]) -> list[JobStanding]:
        return values.standings(ids, await self._run("accept", _ids(ids)))

    async def cancel(
        self,
        ids: Sequence[UUID],
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> list[JobStanding]:
        answer = await self._run(
            "cancel",
            _ids(ids),
            actor=storable(actor),
            reason=reason and storable(reason),
            states=written_names(sorted(states)) or "[]",
        )
        return values.standings(ids, answer)

    async def give_up(self, ids: Sequence[UUID]) -> list[JobStanding]:
        return values.standings(ids, await self._run("give_up", _ids(ids)))

    async def reschedule(
        self,
        ids: Sequence[UUID],
        *,
        run_at: datetime | None = None,
        delay: timedelta | None = None,
        actor: str = "api",
    ) -> list[JobStanding]:
        check_time(run_at, delay)
        answer = await self._run(
            "reschedule",
            _ids(ids),
            run_at=None if run_at is None else rows.micros(run_at),
            delay=rows.duration(delay),
            actor=storable(actor),
        )
        return values.standings(ids, answer)

    async def outlook(self, lines: Collection[Line], present: Presence | None = None) -> Outlook:
        drain = False
        if present is not None:
            pulse = Pulse(worker=present.worker, leases=(), ready=present.ready)
            drain = (await self.heartbeat(pulse)).drain
        return replace(await self._look_out(lines), drain=drain)

    async def heartbeat(self, pulse: Pulse) -> Beat:
        held = sorted(set(pulse.leases))
        given = [(str(lease.job), lease.fence, values.progress_under(pulse, lease)) for lease in held]
        named = {
            "worker": pulse.worker,
            "ready": pulse.ready,
            "lease_for": rows.duration(pulse.lease_for),
        }
        answer = await self._writer.run(
            lambda connection, turn: self._scripts.run(
                connection, "heartbeat", given, **turn._asdict(), **named
            ),
            is_urgent=True,
        )
        return values.beat_from(held, answer)

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        printable("worker", worker, least=1)
        given, dead = sorted({*unstarted, *killed}), set(killed)
        named = {"worker": worker, "most": MOST_HAND_BACKS}

        def columns(some: Collection[Lease]) -> list[tuple[str, int, bool]]:
            return [(str(lease.job), lease.fence, lease in dead) for lease in some]

        try:
            answer = await self._run("hand_back", columns(given), **named)
        except DataRefused as refused:
            await self._bisect(refused, bisection.handing_back(given, columns, named))
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[StepTaken]:
        whole("limit", limit, 0, LARGEST_BATCH)
        try:
            return values.moved_from(await self._run("promote", limit=limit))
        except DataRefused as refused:
            await self._bisect(refused, bisection.promoting(limit))

    async def reap(self, limit: int) -> list[StepTaken]:
        whole("limit", limit, 0, LARGEST_BATCH)
        try:
            return values.reaped_from(await self._run("reap", limit=limit, **REAPER))
        except DataRefused as refused:
            await self._bisect(refused, bisection.reaping(limit))

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        whole("limit", limit, 0, LARGEST_BATCH)
        taken = await self._write("follow_up", lines=written_lines(lines), limit=limit)
        return [row["job"] for row in taken]


def _ids(ids: Sequence[UUID]) -> list[tuple[str]]:
    return [(str(job),) for job in sorted(set(ids))]
