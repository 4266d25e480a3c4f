"""How the PostgreSQL store finds the jobs for which a batch is refused, and puts them aside.

One transaction first locks every job that may be to blame. Then it tries halves of them, each in a savepoint
that is rolled back, by the statement that was refused. So no job is blamed for what another transaction has
done meanwhile. Any error that is not about data (an outage, a missing permission, a read-only server) ends
the search, and nothing is put aside.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeVar
from uuid import UUID

import asyncpg

from tenure.core.errors import DataRefused
from tenure.core.model.aside import Aside, AsidePage, JobsAside
from tenure.core.model.job import JobStanding
from tenure.core.model.lease import Lease, Order
from tenure.core.model.outcome import Report
from tenure.core.values.bounds import LARGEST_PAGE, MOST_SUSPENSIONS, whole
from tenure.storage.mapping import aside, culprits, return_steps
from tenure.storage.mapping.aside import Culprit, DatabaseRefusal
from tenure.storage.mapping.return_steps import LENT, REAPER, Part, Reap, Settle, Step
from tenure.storage.mapping.turn_rows import ReportRow
from tenure.storage.postgres import rows
from tenure.storage.postgres.claims.offers import Offer, OpenLine
from tenure.storage.postgres.claims.statement_choice import FULL, NAMED
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.errors import brief
from tenure.storage.postgres.wire.transaction import Transaction

S = TypeVar("S")
Search = Callable[[Transaction], Awaitable[list[Culprit]]]
"""Finds the jobs to blame for a refusal, in a transaction that can put them aside."""


class Bisection(Database):
    """Putting aside and putting back."""

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        given = aside.by_lease(lost)

        async def search(run: Transaction) -> list[Culprit]:
            found = await run("sift.stranded", **rows.leases(given))
            leases = [Lease(row["job"], row["fence"]) for row in found]
            return [aside.stranded(lease, given[lease], worker) for lease in leases]

        return await self._put_aside(search) if given else []

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> AsidePage:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run(
            "asides", jobs=jobs, namespace=namespace, most=aside.MOST_LISTED, limit=limit
        )
        return aside.asides_from(found, limit)

    async def put_back(self, job: UUID) -> JobStanding | None:
        standing = await self._pool.transact(lambda run: _put_back(run, job))
        if standing is not None and standing.moved:
            self._wake_all()
        return standing

    async def _bisect(self, refused: DataRefused, *searches: Search) -> NoReturn:
        """Put aside the jobs to blame for a refusal and raise JobsAside; without any, raise the refusal."""

        async def search(run: Transaction) -> list[Culprit]:
            return [one for each in searches for one in await each(run)]

        if asides := await self._put_aside(search):
            self._wake_all()
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


def settling(given: Sequence[ReportRow], worker: str) -> Search:
    """Which reports cannot be recorded."""

    async def search(run: Transaction) -> list[Culprit]:
        await run("sift.owned", jobs=[one.lease.job for one in given])
        trials = culprits.blame_reports(given, worker)
        return await _tried(run, FULL, trials, lambda some: _turn(some, [], worker, 0))

    return search


def claiming(offers: Sequence[Offer], order: Order) -> Search:
    """Which of the jobs on offer cannot be claimed."""

    async def search(run: Transaction) -> list[Culprit]:
        places = {name: column for name, column in rows.offers(offers).items() if name != "limits"}
        lines = {offer.place: offer.open_line for offer in offers}
        queued = await run("sift.standing", **places, limit=order.limit)

        def columns(some: Sequence[asyncpg.Record]) -> dict[str, Any]:
            alone = [_offer(row, lines[row["line"], row["rank"]]) for row in some]
            return _turn([], alone, order.worker, len(alone))

        return await _tried(run, NAMED, culprits.blame_queued(queued, order.worker), columns)

    return search


def handing_back(
    worker: str, given: Sequence[Lease], columns: Callable[[Sequence[Lease]], dict[str, Any]]
) -> Search:
    """Which jobs cannot be handed back."""

    async def search(run: Transaction) -> list[Culprit]:
        await run("sift.owned", jobs=[lease.job for lease in given])
        return await _tried(run, "hand_back", culprits.blame_leases(given, worker), columns)

    return search


def promoting(limit: int) -> Search:
    """Which jobs that are due cannot be promoted."""

    async def search(run: Transaction) -> list[Culprit]:
        due = await run("sift.due", limit=limit)
        return await _tried(run, "promote+named", culprits.blame_due(due), _due)

    return search


def reaping(limit: int) -> Search:
    """Which jobs under expired leases cannot be reaped."""

    async def search(run: Transaction) -> list[Culprit]:
        expired = await run("sift.expired", limit=limit)
        return await _tried(run, "reap+named", culprits.blame_expired(expired), _expired)

    return search


async def _tried(
    run: Transaction,
    statement: str,
    trials: culprits.Trials[S],
    columns: Callable[[Sequence[S]], dict[str, Any]],
) -> list[Culprit]:
    """Try the statement on each part that the search yields; what the search finds."""
    try:
        some = next(trials)
        while True:
            error = await run.refusal(statement, **columns(some)) if some else None
            some = trials.send(None if error is None else DatabaseRefusal(error.sqlstate, brief(error)))
    except StopIteration as end:
        found: list[Culprit] = end.value
        return found


def _turn(given: Sequence[ReportRow], offers: Sequence[Offer], worker: str, limit: int) -> dict[str, Any]:
    return {
        **rows.reports(given),
        **rows.offers(offers),
        "worker": worker,
        "lease_for": LENT,
        "limit": limit,
        "most_suspensions": MOST_SUSPENSIONS,
    }


def _due(some: Sequence[asyncpg.Record]) -> dict[str, Any]:
    return {"named": [row["job"] for row in some], "limit": len(some)}


def _expired(some: Sequence[asyncpg.Record]) -> dict[str, Any]:
    leases = sorted({row["fence"] for row in some})
    return {"named": [row["job"] for row in some], "leases": leases, "limit": len(leases), **REAPER}


def _offer(row: asyncpg.Record, line: OpenLine) -> Offer:
    """The place of this job alone."""
    return Offer((row["line"], row["rank"]), row["seq"] - 1, line, 1)


async def _put_back(run: Transaction, job: UUID) -> JobStanding | None:
    steps = return_steps.put_back(job)
    try:
        step = next(steps)
        while True:
            step = steps.send(await _run_step(run, step, job))
    except StopIteration as end:
        standing: JobStanding | None = end.value
        return standing


async def _run_step(run: Transaction, step: Step, job: UUID) -> list[asyncpg.Record]:
    match step:
        case Part(name, values):
            return await run(f"put_back.{name}", job=job, **values)
        case Settle(kept, owner):
            report = aside.reported_from(kept, kept["after"])
            return await run(FULL, **_turn([report], [], owner, 0))
        case Reap(job, fence):
            return await run("reap+named", named=[job], leases=[fence], limit=1, **REAPER)
