"""How the SQLite store finds the jobs for which a batch is refused, and puts them aside.

The verb's own script is tried on halves of the batch, each in a savepoint that is rolled back, in one
transaction of the writer: nothing else can move a job meanwhile. Any error that is not about data ends the
search, and nothing is put aside.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn
from uuid import UUID

import apsw

from tenure.core.errors import DataRefused
from tenure.core.model.aside import Aside, AsidePage, JobsAside
from tenure.core.model.job import JobStanding
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import Report
from tenure.core.values.bounds import LARGEST_PAGE, MOST_SUSPENSIONS, whole
from tenure.storage.mapping import aside, culprits, return_steps
from tenure.storage.mapping.aside import Culprit
from tenure.storage.mapping.return_steps import REAPER, Part, Reap, Settle, Step
from tenure.storage.mapping.turn_rows import ReportRow
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database
from tenure.storage.sqlite.scripts import Only
from tenure.storage.sqlite.verbs.trial import Trial, written_ids

DUE = Only("due", "moving")
LOST = Only("lost", "moving")
PLACES = Only("places", "picked")

Search = Callable[[Trial], list[Culprit]]
"""Finds the jobs to blame for a refusal, in a transaction that can put them aside."""


class Bisection(Database):
    """Putting aside and putting back."""

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        given = aside.by_lease(lost)

        def search(trial: Trial) -> list[Culprit]:
            return [aside.stranded(lease, given[lease], worker) for lease in trial.stranded(list(given))]

        return await self._put_aside(search) if given else []

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> AsidePage:
        whole("limit", limit, 1, LARGEST_PAGE)
        named = None if jobs is None else written_ids(list(jobs))
        found = await self._read(
            "asides", lambda row: row, jobs=named, namespace=namespace, most=aside.MOST_LISTED, limit=limit
        )
        return aside.asides_from(found, limit)

    async def put_back(self, job: UUID) -> JobStanding | None:
        return await self._writer.run(lambda connection, turn: self._put_back(connection, turn, job))

    async def _bisect(self, refused: DataRefused, *searches: Search) -> NoReturn:
        """Put aside the jobs to blame for a refusal and raise JobsAside; without any, raise the refusal."""
        asides = await self._put_aside(lambda trial: [one for each in searches for one in each(trial)])
        if asides:
            raise JobsAside(asides) from refused
        raise refused

    async def _put_aside(self, search: Search) -> list[Aside]:
        def put(connection: apsw.Connection, turn: TransactionTime) -> list[Aside]:
            trial = Trial(self._scripts, connection, turn)
            guilty = search(trial)
            for one in guilty:
                trial.put(one)
            return trial.asides(guilty)

        return await self._writer.run(put)

    def _put_back(self, connection: apsw.Connection, turn: TransactionTime, job: UUID) -> JobStanding | None:
        standing: JobStanding | None
        steps = return_steps.put_back(job)
        try:
            step = next(steps)
            while True:
                step = steps.send(self._run_step(connection, turn, step, job))
        except StopIteration as end:
            standing = end.value
        if standing is not None and standing.moved:
            # The row goes last: it says that the job holds no slots, which a step would free again.
            self._run_step(connection, turn, Part("forget"), job)
        return standing

    def _run_step(
        self, connection: apsw.Connection, turn: TransactionTime, step: Step, job: UUID
    ) -> Sequence[dict[str, Any]]:
        values = turn._asdict()
        match step:
            case Part(name, given):
                if "lease_for" in given:
                    values["lease_for"] = rows.duration(given["lease_for"])
                name = "kept" if name == "take" else name
                return self._scripts.one(
                    connection, f"put_back.{name}", **{**given, **values, "job": str(job)}
                )
            case Settle(kept, owner):
                report = rows.reports([aside.reported_from(kept, _length(kept["after"]))])
                settled = self._scripts.bare(
                    connection, "settle_and_claim", report, **values, **no_claim(owner)
                )
                return [{"settled": row} for row in settled]
            case Reap(job):
                self._scripts.run_only(connection, "reap", LOST, [str(job)], **values, **REAPER, limit=-1)
                return []


def settling(given: Sequence[ReportRow], values: dict[str, Any]) -> Search:
    """Which reports cannot be recorded."""
    worker = values["worker"]
    return lambda trial: trial.culprits(
        culprits.blame_reports(given, worker),
        lambda some: trial.run("settle_and_claim", rows.reports(some), **no_claim(worker)),
    )


def claiming(values: dict[str, Any]) -> Search:
    """Which of the jobs in line cannot be claimed."""

    def search(trial: Trial) -> list[Culprit]:
        queued = trial.found("settle_and_claim", PLACES, **values) if values["limit"] else []
        return trial.culprits(
            culprits.blame_queued(queued, values["worker"]),
            lambda some: trial.run_only("settle_and_claim", PLACES, _jobs(some), **values),
        )

    return search


def handing_back(
    given: Sequence[Lease],
    columns: Callable[[Sequence[Lease]], Sequence[tuple[Any, ...]]],
    values: dict[str, Any],
) -> Search:
    """Which jobs cannot be handed back."""
    return lambda trial: trial.culprits(
        culprits.blame_leases(given, values["worker"]),
        lambda some: trial.run("hand_back", columns(some), **values),
    )


def promoting(limit: int) -> Search:
    """Which jobs that are due cannot be promoted."""
    return lambda trial: trial.culprits(
        culprits.blame_due(trial.found("promote", DUE, limit=limit)),
        lambda some: trial.run_only("promote", DUE, _jobs(some), limit=limit),
    )


def reaping(limit: int) -> Search:
    """Which jobs under expired leases cannot be reaped."""
    return lambda trial: trial.culprits(
        culprits.blame_expired(trial.found("reap", LOST, limit=limit)),
        lambda some: trial.run_only("reap", LOST, _jobs(some), limit=limit, **REAPER),
    )


def no_claim(worker: str) -> dict[str, Any]:
    """A turn that only settles."""
    return {
        "worker": worker,
        "lease_for": 0,
        "limit": 0,
        "most_suspensions": MOST_SUSPENSIONS,
        "lines": "[]",
        "scope": "",
        "turn": 0,
        "step": None,
        "further": 0,
    }


def _jobs(some: Sequence[dict[str, Any]]) -> list[str]:
    return [str(row["job"]) for row in some]


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else timedelta(microseconds=micros)
