"""The PostgreSQL store, verb by verb; what each promises stands in `tenure.storage.contract`."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from uuid import UUID

import asyncpg

from tenure.core.bounds import LARGEST_BATCH, MOST_HAND_BACKS, MOST_SUSPENSIONS, printable, whole
from tenure.core.job import Moved, Standing
from tenure.core.lease import Beat, Claimed, Lease, Line, Order, Pulse
from tenure.core.outcome import Report, Round, Settled
from tenure.core.states import UNFINISHED, State
from tenure.core.text import storable
from tenure.storage import turn, values
from tenure.storage.contract import Wakeups
from tenure.storage.identity import Identity
from tenure.storage.migrate import Applied, apply_all
from tenure.storage.postgres import places, rows, schema
from tenure.storage.postgres.access import Access
from tenure.storage.postgres.coalesce import Coalescer
from tenure.storage.postgres.creation import MOST_A_STATEMENT, Creation
from tenure.storage.postgres.forms import TOLD, Forms
from tenure.storage.postgres.lines import Lines
from tenure.storage.postgres.operations import Operations
from tenure.storage.postgres.overview import Overview
from tenure.storage.postgres.places import Offer, Places
from tenure.storage.postgres.pool import Pool
from tenure.storage.postgres.reading import Reading
from tenure.storage.postgres.told import Place
from tenure.storage.postgres.trails import Trails
from tenure.storage.postgres.wakeups import Switchboard

TIMED = frozenset({State.RETRYING, State.SUSPENDED})
"""The states in which an attempt's end gives a job a time to wait for."""

MOST_ORDERS = 100
"""How many different sets of lines a process remembers the places of."""


class PostgresStore(Creation, Reading, Overview, Operations, Trails, Access):
    """Jobs in a PostgreSQL database, shared by any number of processes and machines."""

    def __init__(
        self,
        dsn: str,
        *,
        pooled: bool = False,
        connections: int = 10,
        timeout: float = 30.0,
        notify: bool = True,
    ) -> None:
        """`pooled`: a transaction-mode pooler stands in between.

        `timeout` bounds every statement together with the wait for a connection, and the wait for a turn.
        `notify`: tell other processes, and hear from them, when there is work; never through a pooler.
        """
        self._pool = Pool(dsn, pooled=pooled, size=connections, timeout=timeout)
        self._enqueues = Coalescer(self._enqueue, most=MOST_A_STATEMENT, patience=timeout, lanes=2)
        self._lines = Lines(self._pool)
        self._hints = Switchboard(self._pool, enabled=notify and not pooled, heard=self._hear)
        self._places: dict[tuple[Line, ...], Places] = {}
        self._forms = Forms()
        self._identity: Identity | None = None

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._enqueues.close()
        await self._hints.close()
        await self._pool.close()

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        return await apply_all(schema.PACKAGE, lambda: self._pool.toil(schema.apply_next), on_applied)

    async def migration_sql(self) -> str:
        return await self._pool.work(schema.by_hand)

    async def verify(self) -> None:
        await self._pool.work(schema.verify)

    async def now(self) -> datetime:
        [row] = await self._pool.run("now")
        moment: datetime = row["now"]
        return moment

    async def accept(self, ids: Sequence[UUID]) -> list[Standing]:
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
    ) -> list[Standing]:
        answer = await self._pool.run(
            "cancel",
            ids=sorted(set(ids)),
            actor=storable(actor),
            reason=reason and storable(reason),
            states=sorted(states),
        )
        moved = [row for row in answer if row["moved"]]
        self._tell_ended(moved)
        if any(row["state"] == State.CANCELLING for row in moved):
            self._hints.stopping()
        return values.standings(ids, answer)

    async def give_up(self, ids: Sequence[UUID]) -> list[Standing]:
        answer = await self._pool.run("give_up", ids=sorted(set(ids)))
        self._hints.timed()
        return values.standings(ids, answer)

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> Round:
        given = turn.reported(reports)
        if not given and (claimed := await self._claim_told(order)):
            return Round(Settled({}, []), claimed)
        known, offers = await self._offers(order, len(given))
        if not given and not offers:
            known.forget()
            return Round(Settled({}, []), [])
        lines = {offer.place[0]: offer.standing for offer in offers}
        limits = {standing.limits for standing in lines.values()}
        is_wide = order.limit > len(given) and any(map(known.has_room, limits))
        fences = {report.lease.fence for report in given}
        passes = not is_wide and not any(map(known.are_lowered, limits))
        answer = await self._pool.run(
            self._forms.choose(fences, limits, passes=passes),
            **rows.reports(given),
            **rows.offers(offers),
            worker=order.worker,
            lease_for=order.lease_for,
            limit=order.limit,
            most_suspensions=MOST_SUSPENSIONS,
        )
        groups, taken = rows.of_turn(answer)
        begun = Counter(row["line"] for row in taken)
        if known.turned([(group["line"], len(group["places"])) for group in groups], begun):
            self._hints.queued()
        self._tell_ended(groups)
        if any(group["state"] in TIMED for group in groups):
            self._hints.timed()
        known.claimed(rows.furthest(taken), short=len(taken) < order.limit)
        self._forms.note({row["fence"] for row in taken}, {lines[line].limits for line in begun})
        return Round(
            turn.settled_from(given, ((group["state"], group["places"]) for group in groups)),
            _claimed(taken, lines),
        )

    async def _claim_told(self, order: Order) -> list[Claimed]:
        """Claim where hints say that jobs are. Where that comes to nothing, somebody must look."""
        known = self._known(order)
        told = known.told() if order.limit and self._hints.are_heard else None
        if told is None:
            return []
        began = time.monotonic()
        answer = await self._pool.run(
            TOLD, **rows.told(told), worker=order.worker, lease_for=order.lease_for, limit=order.limit
        )
        known.walked(time.monotonic() - began)
        _, taken = rows.of_turn(answer)
        known.forget()
        known.claimed(rows.furthest(taken), short=len(taken) < order.limit)
        self._forms.note({row["fence"] for row in taken}, {()})
        return _claimed(taken, {told.place[0]: told.standing})

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
        answer = await self._pool.run(
            "hand_back",
            **rows.leases(given),
            killed=[lease in dead for lease in given],
            worker=worker,
            most=MOST_HAND_BACKS,
        )
        self._note_moved(answer)
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._pool.run("promote", limit=limit)
        self._note_moved(answer)
        return values.moved_from(answer)

    async def reap(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._pool.run("reap", limit=limit)
        self._note_moved(answer)
        return values.reaped_from(answer)

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        whole("limit", limit, 0, LARGEST_BATCH)
        return [row["job"] for row in await self._pool.run("follow_up", **rows.lines(lines), limit=limit)]

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        return self._hints.listen(endings=endings, stops=stops, changes=changes)

    def _note_moved(self, moved: Iterable[asyncpg.Record]) -> None:
        steps = list(moved)
        self._note_queued(row for row in steps if row["state"] == State.QUEUED)
        self._tell_ended(steps)

    def _tell_ended(self, moved: Iterable[asyncpg.Record]) -> None:
        if any(State(row["state"]).is_final for row in moved):
            self._hints.ended()

    def _hear(self, told: Collection[Place]) -> None:
        for known in self._places.values():
            known.hear(told)

    def _look_again(self) -> None:
        for known in self._places.values():
            known.hear()
            known.forget()
        self._hints.queued()

    async def _offers(self, order: Order, returning: int) -> tuple[Places, list[Offer]]:
        """Where to claim. Who believes that there is nothing looks again, unless that was just seen."""
        known, is_fresh = await self._look_up(order)
        offers = known.in_turn(order.limit, returning) if order.limit else []
        if order.limit and not offers and not is_fresh:
            known.forget()
            await self._look_up(order)
            offers = known.in_turn(order.limit, returning)
        return known, offers

    async def _look_up(self, order: Order) -> tuple[Places, bool]:
        """What is known of the lines, and whether it was looked up just now."""
        known = self._known(order)
        is_stale = known.are_stale
        if order.limit and is_stale:
            began = time.monotonic()
            found = await self._pool.run(
                "settle_and_claim.places",
                **rows.lines(order.lines),
                after_line=known.after_line,
                most=places.MOST_REACHED,
            )
            known.learn(found, time.monotonic() - began)
        return known, is_stale

    def _known(self, order: Order) -> Places:
        known = self._places.get(order.lines)
        if known is None:
            if len(self._places) > MOST_ORDERS:
                self._places.clear()
            known = self._places[order.lines] = Places(order.lines)
        return known


def _claimed(taken: Iterable[asyncpg.Record], lines: Mapping[int, places.Standing]) -> list[Claimed]:
    return [turn.claimed_from(lines[row["line"]].line, *row[rows.CLAIM]) for row in taken]
