"""The PostgreSQL store; `tenure.storage.contract.store` says what each verb promises.

Here are the verbs that move jobs one by one; `verbs/` holds the others by subject.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from tenure.core.errors import DataRefused
from tenure.core.model.job import JobStanding, StepTaken, check_time
from tenure.core.model.lease import Beat, Lease, Line, Pulse
from tenure.core.model.outcome import Settled
from tenure.core.model.states import UNFINISHED, State
from tenure.core.signals import Announce
from tenure.core.values.bounds import LARGEST_BATCH, MOST_HAND_BACKS, printable, whole
from tenure.core.values.text import storable
from tenure.storage.mapping import values
from tenure.storage.mapping.return_steps import REAPER
from tenure.storage.postgres import rows
from tenure.storage.postgres.verbs import bisection
from tenure.storage.postgres.verbs.access import Access
from tenure.storage.postgres.verbs.claims_by_id import ClaimsById
from tenure.storage.postgres.verbs.deliveries import DeliveryVerbs
from tenure.storage.postgres.verbs.durable_steps import DurableSteps
from tenure.storage.postgres.verbs.durable_waits import DurableWaits
from tenure.storage.postgres.verbs.health import Inspection
from tenure.storage.postgres.verbs.messages import MessageVerbs
from tenure.storage.postgres.verbs.operations import Operations
from tenure.storage.postgres.verbs.overview import Overview
from tenure.storage.postgres.verbs.reading import Reading
from tenure.storage.postgres.verbs.repairs import Mending
from tenure.storage.postgres.verbs.retention import RetentionVerbs
from tenure.storage.postgres.verbs.schedules import ScheduleVerbs
from tenure.storage.postgres.verbs.trails import Trails
from tenure.storage.postgres.verbs.turn import Turn
from tenure.storage.postgres.verbs.webhooks import WebhookVerbs
from tenure.storage.postgres.wire.addresses import PostgresAddress, read_address
from tenure.storage.postgres.wire.pool import Pool


class PostgresStore(
    ScheduleVerbs,
    WebhookVerbs,
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
    """Jobs in a PostgreSQL database, shared by any number of processes and machines."""

    def __init__(
        self,
        dsn: str | PostgresAddress,
        *,
        pooled: bool = False,
        connections: int = 10,
        timeout: float = 30.0,
        notify: bool = True,
        for_worker: bool = False,
        on_signal: Announce = lambda _: None,
    ) -> None:
        """`pooled`: the address is that of a transaction-mode pooler.

        `connections` is the most for statements. Beside them there is one that receives hints, while anything
        listens, and, `for_worker`, one for heartbeats alone. `timeout` bounds each statement together with
        the wait for a connection, and the wait for a turn; a worker also waits as long as the server has no
        connection to spare. `notify`: send hints to other processes and receive theirs; never through a
        pooler.
        """
        address = read_address(dsn) if isinstance(dsn, str) else dsn
        address = address._replace(pooled=pooled or address.pooled)
        pool = Pool(address, size=connections, timeout=timeout, for_worker=for_worker, on_signal=on_signal)
        super().__init__(pool, notify=notify and not address.pooled, patience=timeout)

    async def accept(self, ids: Sequence[UUID]) -> list[JobStanding]:
        answer = await self._pool.run("accept", ids=sorted(set(ids)))
        self._note_queued(row for row in answer if row["moved"])
        return values.standings(ids, answer)

    async def cancel(
        self,
        ids: Sequence[UUID],
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> list[JobStanding]:
        answer = await self._pool.run(
            "cancel",
            ids=sorted(set(ids)),
            actor=storable(actor),
            reason=reason and storable(reason),
            states=sorted(states),
        )
        moved = [row for row in answer if row["moved"]]
        self._note_ended(moved)
        if any(row["state"] == State.CANCELLING for row in moved):
            self._wakeups.stopping()
        return values.standings(ids, answer)

    async def give_up(self, ids: Sequence[UUID]) -> list[JobStanding]:
        named: dict[str, object] = {"ids": sorted(set(ids))}
        *_, answer = await self._pool.run_all(("give_up.lock", named), ("give_up.mark", named))
        self._wakeups.timed()
        return values.standings(ids, answer)

    async def reschedule(
        self,
        ids: Sequence[UUID],
        *,
        run_at: datetime | None = None,
        delay: timedelta | None = None,
        actor: str = "api",
    ) -> list[JobStanding]:
        check_time(run_at, delay)
        named: dict[str, object] = {"ids": sorted(set(ids))}
        to = {"run_at": run_at, "delay": delay, "actor": storable(actor)}
        *_, answer = await self._pool.run_all(("reschedule.lock", named), ("reschedule.move", named | to))
        self._wakeups.timed()
        return values.standings(ids, answer)

    async def heartbeat(self, pulse: Pulse) -> Beat:
        held = sorted(set(pulse.leases))
        answer = await self._pool.run(
            "heartbeat",
            **rows.leases(held),
            progress=[values.progress_under(pulse, lease) for lease in held],
            worker=pulse.worker,
            ready=pulse.ready,
            lease_for=pulse.lease_for,
        )
        return values.beat_from(held, answer)

    async def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        printable("worker", worker, least=1)
        given, dead = sorted({*unstarted, *killed}), set(killed)

        def columns(some: Collection[Lease]) -> dict[str, object]:
            killed = [lease in dead for lease in some]
            return {**rows.leases(some), "killed": killed, "worker": worker, "most": MOST_HAND_BACKS}

        try:
            answer = await self._pool.run("hand_back", **columns(given))
        except DataRefused as refused:
            await self._bisect(refused, bisection.handing_back(worker, given, columns))
        self._note_freed(answer)
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[StepTaken]:
        answer = await self._steps("promote", limit, bisection.promoting)
        self._note_moved(answer)
        return values.moved_from(answer)

    async def reap(self, limit: int) -> list[StepTaken]:
        answer = await self._steps("reap", limit, bisection.reaping, **REAPER)
        self._note_freed(answer)
        return values.reaped_from(answer)

    async def _steps(
        self, duty: str, limit: int, search: Callable[[int], bisection.Search], **named: str
    ) -> Sequence[asyncpg.Record]:
        whole("limit", limit, 0, LARGEST_BATCH)
        try:
            return await self._pool.run(duty, limit=limit, **named)
        except DataRefused as refused:
            await self._bisect(refused, search(limit))

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        whole("limit", limit, 0, LARGEST_BATCH)
        return [row["job"] for row in await self._pool.run("follow_up", **rows.lines(lines), limit=limit)]

    def _note_freed(self, moved: Sequence[asyncpg.Record]) -> None:
        """Attempts ended outside a turn, so no turn counts the room that they leave."""
        if moved:
            self._scans.note_room()
        self._note_moved(moved)
