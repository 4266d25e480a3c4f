"""The PostgreSQL store, verb by verb; what each promises stands in `tenure.storage.contract`."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from uuid import UUID

import asyncpg
from msgspec.structs import replace

from tenure.core.aside import Aside
from tenure.core.bounds import LARGEST_BATCH, MOST_HAND_BACKS, MOST_SUSPENSIONS, printable, whole
from tenure.core.errors import DataRefused, JobsAside, StoreError
from tenure.core.job import Moved, Standing
from tenure.core.lease import Beat, Claimed, Lease, Line, Order, Pulse
from tenure.core.outcome import Report, Settled
from tenure.core.round import Round
from tenure.core.states import UNFINISHED, State
from tenure.core.text import storable
from tenure.storage import turn, values
from tenure.storage.contract import Wakeups
from tenure.storage.findings import MOST, Finding, findings_from
from tenure.storage.identity import Identity
from tenure.storage.migrate import Applied, apply_all
from tenure.storage.postgres import rows, schema, sifting
from tenure.storage.postgres.access import Access
from tenure.storage.postgres.coalesce import Coalescer
from tenure.storage.postgres.creation import MOST_A_STATEMENT, Creation
from tenure.storage.postgres.forms import TOLD, Forms
from tenure.storage.postgres.lines import Lines
from tenure.storage.postgres.offers import Offer
from tenure.storage.postgres.offers import Standing as InLine
from tenure.storage.postgres.operations import Operations
from tenure.storage.postgres.overview import Overview
from tenure.storage.postgres.places import Places
from tenure.storage.postgres.pool import Pool
from tenure.storage.postgres.reading import Reading
from tenure.storage.postgres.search import Search
from tenure.storage.postgres.sifting import Sifting
from tenure.storage.postgres.told import Place
from tenure.storage.postgres.trails import Trails
from tenure.storage.postgres.wakeups import Switchboard

TIMED = frozenset({State.RETRYING, State.SUSPENDED})
"""The states in which an attempt's end gives a job a time to wait for."""

MOST_ORDERS = 100
"""How many different sets of lines a process remembers the places of."""


class PostgresStore(Creation, Reading, Overview, Operations, Trails, Access, Sifting):
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

    async def inspect(self, *, limit: int = MOST) -> list[Finding]:
        whole("limit", limit, 1, LARGEST_BATCH)
        return findings_from(await self._pool.survey("inspect", limit=limit), schema.REMOVAL)

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
        known = self._known(order)
        search = Search(self._pool, order, known)
        offers = await search.offers(len(given))
        if not given and not offers:
            known.forget()
            return Round(Settled({}, []), [])
        first = await self._turn(given, order, known, offers)
        if len(first.claimed) == order.limit:
            return first
        return await self._go_on(order, known, search, first)

    async def _turn(
        self, given: Sequence[turn.Reported], order: Order, known: Places, offers: Sequence[Offer]
    ) -> Round:
        lines = {offer.place[0]: offer.standing for offer in offers}
        limits = {standing.limits for standing in lines.values()}
        is_wide = order.limit > len(given) and any(map(known.has_room, limits))
        fences = {report.lease.fence for report in given}
        passes = not is_wide and not any(map(known.are_lowered, limits))
        try:
            answer = await self._pool.run(
                self._forms.choose(fences, limits, passes=passes),
                **rows.reports(given),
                **rows.offers(offers),
                worker=order.worker,
                lease_for=order.lease_for,
                limit=order.limit,
                most_suspensions=MOST_SUSPENSIONS,
            )
        except DataRefused as refused:
            await self._sift(refused, sifting.settling(given, order.worker), sifting.claiming(offers, order))
        groups, taken = rows.of_turn(answer)
        begun = Counter(row["line"] for row in taken)
        ended = [(group["line"], len(group["places"])) for group in groups]
        is_told = all(line in known.known for line, _ in ended)
        if known.turned(ended, begun) or (not is_told and self._forms.may_free(fences)):
            self._hints.queued()
            self._note_room(besides=known)
        self._tell_ended(groups)
        if any(group["state"] in TIMED for group in groups):
            self._hints.timed()
        known.claimed(offers, order.limit, rows.by_place(taken))
        self._forms.note({row["fence"] for row in taken}, {lines[line].limits for line in begun})
        return Round(
            turn.settled_from(given, ((group["state"], group["places"]) for group in groups)),
            _claimed(taken, lines),
        )

    async def _go_on(self, order: Order, known: Places, search: Search, first: Round) -> Round:
        """A turn, and what else there is to claim where it was offered nothing.

        What is claimed stays claimed, though to go on may fail.
        """
        claimed, more, asides = list(first.claimed), first.claimed, list[Aside]()
        with suppress(StoreError):
            while lacking := order.limit - len(claimed):
                offers = await search.more(lacking, is_vain=not more)
                if not offers:
                    break
                try:
                    more = (await self._turn([], replace(order, limit=lacking), known, offers)).claimed
                except JobsAside as met:  # and it goes on without them
                    more, asides = [], [*asides, *met.asides]
                claimed += more
        return Round(first.settled, claimed, asides)

    async def _claim_told(self, order: Order) -> list[Claimed]:
        """Claim where hints say that jobs are. Where that comes to nothing, somebody must look."""
        known = self._known(order)
        told = known.told(order.limit) if order.limit and self._hints.are_heard else None
        if told is None:
            return []
        began = time.monotonic()
        try:
            answer = await self._pool.run(
                TOLD, **rows.told(told), worker=order.worker, lease_for=order.lease_for, limit=order.limit
            )
        except DataRefused as refused:
            await self._sift(refused, sifting.claiming([told], order))
        known.walked(time.monotonic() - began)
        _, taken = rows.of_turn(answer)
        known.forget()
        known.claimed([told], order.limit, rows.by_place(taken))
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

        def asked(some: Collection[Lease]) -> dict[str, object]:
            killed = [lease in dead for lease in some]
            return {**rows.leases(some), "killed": killed, "worker": worker, "most": MOST_HAND_BACKS}

        try:
            answer = await self._pool.run("hand_back", **asked(given))
        except DataRefused as refused:
            await self._sift(refused, sifting.handing_back(worker, given, asked))
        self._note_freed(answer)
        return values.settled(given, values.accepted_from(answer))

    async def promote(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._steps("promote", limit, sifting.promoting)
        self._note_moved(answer)
        return values.moved_from(answer)

    async def reap(self, limit: int) -> list[Moved]:
        whole("limit", limit, 0, LARGEST_BATCH)
        answer = await self._steps("reap", limit, sifting.reaping)
        self._note_freed(answer)
        return values.reaped_from(answer)

    async def _steps(
        self, duty: str, limit: int, search: Callable[[int], sifting.Search]
    ) -> Sequence[asyncpg.Record]:
        try:
            return await self._pool.run(duty, limit=limit)
        except DataRefused as refused:
            await self._sift(refused, search(limit))

    async def follow_up(self, lines: Collection[Line], limit: int) -> list[UUID]:
        whole("limit", limit, 0, LARGEST_BATCH)
        return [row["job"] for row in await self._pool.run("follow_up", **rows.lines(lines), limit=limit)]

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        return self._hints.listen(endings=endings, stops=stops, changes=changes)

    def _note_freed(self, moved: Sequence[asyncpg.Record]) -> None:
        """Attempts have ended otherwise than in a turn, which counts what they leave free."""
        if moved:
            self._note_room()
        self._note_moved(moved)

    def _note_room(self, besides: Places | None = None) -> None:
        for known in self._places.values():
            if known is not besides:
                known.freed()

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

    def _tell_all(self) -> None:
        self._look_again()
        self._hints.ended()
        self._hints.timed()

    def _look_again(self) -> None:
        for known in self._places.values():
            known.hear()
            known.forget()
        self._hints.queued()

    def _known(self, order: Order) -> Places:
        known = self._places.get(order.lines)
        if known is None:
            if len(self._places) > MOST_ORDERS:
                self._places.clear()
            known = self._places[order.lines] = Places(order.lines)
        return known


def _claimed(taken: Iterable[asyncpg.Record], lines: Mapping[int, InLine]) -> list[Claimed]:
    return [turn.claimed_from(lines[row["line"]].line, *row[rows.CLAIM]) for row in taken]
