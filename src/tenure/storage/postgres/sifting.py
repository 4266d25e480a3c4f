"""How the PostgreSQL store finds the jobs that make a batch be refused, and puts them aside.

All that may be to blame is locked first, in one transaction; then halves of it are tried, each in a savepoint
that is taken back, by the statement that was refused. So nobody is blamed for what another one has done
meanwhile. An outage, a right that is missing, a server that only reads: any other error than one of data ends
the search, and nothing was put aside.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn, TypeVar
from uuid import UUID

import asyncpg

from tenure.core.aside import Aside, Asides, Met
from tenure.core.bounds import LARGEST_PAGE, MOST_SUSPENSIONS, whole
from tenure.core.errors import DataRefused, JobsAside
from tenure.core.job import Standing
from tenure.core.lease import Lease, Order
from tenure.core.outcome import Report
from tenure.core.states import State
from tenure.storage import aside
from tenure.storage.aside import Found, Refusal
from tenure.storage.postgres import rows
from tenure.storage.postgres.forms import FULL
from tenure.storage.postgres.offers import Offer
from tenure.storage.postgres.offers import Standing as Stood
from tenure.storage.postgres.pool import Pool
from tenure.storage.postgres.refusals import brief
from tenure.storage.postgres.transaction import Transaction
from tenure.storage.turn import Reported

S = TypeVar("S")
Search = Callable[[Transaction], Awaitable[list[Found]]]
NAMED = "settle_and_claim.turn+named"
LENT = timedelta(hours=1)


class Sifting:
    """Putting aside and putting back."""

    _pool: Pool

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        given = aside.by_lease(lost)

        async def search(run: Transaction) -> list[Found]:
            found = await run("sift.stranded", **rows.leases(given))
            leases = [Lease(row["job"], row["fence"]) for row in found]
            return [aside.stranded(lease, given[lease], worker) for lease in leases]

        return await self._put_aside(search) if given else []

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> Asides:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run(
            "asides", jobs=jobs, namespace=namespace, most=aside.MOST_LISTED, limit=limit
        )
        return aside.asides_from(found, limit)

    async def put_back(self, job: UUID) -> Standing | None:
        standing = await self._pool.transact(lambda run: _put_back(run, job))
        if standing is not None and standing.moved:
            self._tell_all()
        return standing

    async def _sift(self, refused: DataRefused, *searches: Search) -> NoReturn:
        """Put aside who is to blame for a refusal, and say so; where nobody is, the refusal stands."""

        async def search(run: Transaction) -> list[Found]:
            return [one for each in searches for one in await each(run)]

        if asides := await self._put_aside(search):
            self._tell_all()
            raise JobsAside(asides) from refused
        raise refused

    async def _put_aside(self, search: Search) -> list[Aside]:
        async def put(run: Transaction) -> list[Aside]:
            guilty = await search(run)
            for one in guilty:
                await run("sift.put", **aside.columns(one))
            jobs = [one.job for one in guilty]
            found = await run("asides", jobs=jobs, namespace=None, most=len(jobs), limit=len(jobs))
            return [aside.aside_from(row) for row in found] if guilty else []

        return await self._pool.transact(put)

    def _tell_all(self) -> None:
        """Something may be claimed, due or ended that nobody has heard of."""
        raise NotImplementedError


def settling(given: Sequence[Reported], worker: str) -> Search:
    """Which reports cannot be recorded."""

    async def search(run: Transaction) -> list[Found]:
        await run("sift.owned", jobs=[one.lease.job for one in given])
        guilty = await _guilty(run, FULL, given, lambda some: _turn(some, [], worker, 0))
        return [
            Found(one.lease.job, refusal, Met.SETTLE, worker, owner=worker, report=one)
            for one, refusal in guilty
        ]

    return search


def claiming(offers: Sequence[Offer], order: Order) -> Search:
    """Which of the jobs on offer cannot be claimed."""

    async def search(run: Transaction) -> list[Found]:
        places = {name: column for name, column in rows.offers(offers).items() if name != "limits"}
        limits = {offer.place: offer.standing for offer in offers}
        standing = await run("sift.standing", **places, limit=order.limit)

        def tried(some: Sequence[asyncpg.Record]) -> dict[str, Any]:
            alone = [_offer(row, limits[row["line"], row["rank"]]) for row in some]
            return _turn([], alone, order.worker, len(alone))

        guilty = await _guilty(run, NAMED, standing, tried)
        return [
            Found(row["job"], refusal, Met.CLAIM, order.worker, place=(row["line"], row["rank"], row["seq"]))
            for row, refusal in guilty
        ]

    return search


def handing_back(worker: str, given: Sequence[Lease], values: Callable[[Sequence[Lease]], Any]) -> Search:
    """Which jobs cannot be given back."""

    async def search(run: Transaction) -> list[Found]:
        await run("sift.owned", jobs=[lease.job for lease in given])
        guilty = await _guilty(run, "hand_back", given, values)
        return [Found(lease.job, refusal, Met.HAND_BACK, worker, owner=worker) for lease, refusal in guilty]

    return search


def promoting(limit: int) -> Search:
    """Which steps of the clock cannot be taken."""

    async def search(run: Transaction) -> list[Found]:
        due = [row["job"] for row in await run("sift.due", limit=limit)]
        guilty = await _guilty(run, "promote+named", due, lambda some: {"named": some, "limit": len(some)})
        return [Found(job, refusal, Met.PROMOTE, "clock") for job, refusal in guilty]

    return search


def reaping(limit: int) -> Search:
    """Which jobs cannot be taken from their owners."""

    async def search(run: Transaction) -> list[Found]:
        lost = await run("sift.expired", limit=limit)
        guilty = await _guilty(run, "reap+named", lost, _taken_from_owners)
        return [Found(row["job"], refusal, Met.REAP, "reaper", owner=row["owner"]) for row, refusal in guilty]

    return search


async def _guilty(
    run: Transaction, statement: str, suspects: Sequence[S], values: Callable[[Sequence[S]], dict[str, Any]]
) -> list[tuple[S, Refusal]]:
    """Those whom the statement does not take even alone."""
    search = aside.halved(suspects)
    try:
        some = next(search)
        while True:
            error = await run.refusal(statement, **values(some)) if some else None
            some = search.send(None if error is None else Refusal(error.sqlstate, brief(error)))
    except StopIteration as end:
        guilty: list[tuple[S, Refusal]] = end.value
        return guilty


def _turn(given: Sequence[Reported], offers: Sequence[Offer], worker: str, limit: int) -> dict[str, Any]:
    return {
        **rows.reports(given),
        **rows.offers(offers),
        "worker": worker,
        "lease_for": LENT,
        "limit": limit,
        "most_suspensions": MOST_SUSPENSIONS,
    }


def _taken_from_owners(some: Sequence[asyncpg.Record]) -> dict[str, Any]:
    leases = sorted({row["fence"] for row in some})
    return {"named": [row["job"] for row in some], "leases": leases, "limit": len(leases)}


def _offer(row: asyncpg.Record, standing: Stood) -> Offer:
    """Of this job alone."""
    return Offer((row["line"], row["rank"]), row["seq"] - 1, standing, 1)


async def _put_back(run: Transaction, job: UUID) -> Standing | None:
    kept = await run("put_back.take", job=job)
    found = await run("put_back.found", job=job)
    kept = kept or await run("put_back.stranded", job=job)
    if not found or not kept:
        return Standing(job, State(found[0]["state"]), moved=False) if found else None
    [row], state = kept, State(found[0]["state"])
    if state.is_owned and found[0]["lease"] == row["fence"]:
        await _end_attempt(run, row)
    elif state is State.QUEUED:
        await run("put_back.line_up", job=job)
    elif state in aside.TIMERS:
        await run("put_back.time", job=job, kind=row["kind"] or aside.TIMERS[state])
    [after] = await run("put_back.found", job=job)
    return Standing(job, State(after["state"]), moved=True)


async def _end_attempt(run: Transaction, row: asyncpg.Record) -> None:
    """Settle an attempt by the report that was kept, or take it from its owner where that leads nowhere."""
    fence, owner = row["fence"], row["owner"] or "unknown"
    before = await run("put_back.lease", fence=fence)
    settled: list[asyncpg.Record] = []
    if row["ending"]:
        await run("put_back.lend", fence=fence, owner=owner, lease_for=LENT, job=row["job"])
        report = aside.reported_from(row, row["after"])
        settled = await run(FULL, **_turn([report], [], owner, 0))
    if not settled:
        await run("put_back.lend", fence=fence, owner=owner, lease_for=timedelta(0), job=row["job"])
        await run("reap+named", named=[row["job"]], leases=[fence], limit=1)
    if before:
        await run("put_back.restore", fence=fence, **before[0])
    else:
        await run("put_back.end", fence=fence)
