"""How the SQLite store finds the jobs that make a batch be refused, and puts them aside.

The verb's own script is run on halves of what it was refused for, each in a savepoint that is taken back, in
one transaction of the writer: nobody else can move anything meanwhile. Any other error than a refusal of data
ends the search, and nothing was put aside.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn
from uuid import UUID

import apsw

from tenure.core.aside import Aside, Asides, Met
from tenure.core.bounds import LARGEST_PAGE, MOST_SUSPENSIONS, whole
from tenure.core.errors import DataRefused, JobsAside
from tenure.core.job import Standing
from tenure.core.lease import Lease
from tenure.core.outcome import Report
from tenure.core.states import State
from tenure.storage import aside
from tenure.storage.aside import Found
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.clock import Turn
from tenure.storage.sqlite.database import Database
from tenure.storage.sqlite.scripts import Only
from tenure.storage.sqlite.trial import Trial, written_ids
from tenure.storage.turn import Reported

LENT = rows.duration(timedelta(hours=1))
DUE = Only("due", "moving")
LOST = Only("lost", "moving")
PLACES = Only("places", "picked")


Search = Callable[[Trial], list[Found]]


class Sifting(Database):
    """Putting aside and putting back."""

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        given = aside.by_lease(lost)

        def search(trial: Trial) -> list[Found]:
            return [aside.stranded(lease, given[lease], worker) for lease in trial.stranded(list(given))]

        return await self._put_aside(search) if given else []

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> Asides:
        whole("limit", limit, 1, LARGEST_PAGE)
        named = None if jobs is None else written_ids(list(jobs))
        found = await self._read(
            "asides", lambda row: row, jobs=named, namespace=namespace, most=aside.MOST_LISTED, limit=limit
        )
        return aside.asides_from(found, limit)

    async def put_back(self, job: UUID) -> Standing | None:
        return await self._writer.run(lambda connection, turn: self._put_back(connection, turn, str(job)))

    async def _sift(self, refused: DataRefused, *searches: Search) -> NoReturn:
        """Put aside who is to blame for a refusal, and say so; where nobody is, the refusal stands."""
        asides = await self._put_aside(lambda trial: [one for each in searches for one in each(trial)])
        if asides:
            raise JobsAside(asides) from refused
        raise refused

    async def _put_aside(self, search: Search) -> list[Aside]:
        def put(connection: apsw.Connection, turn: Turn) -> list[Aside]:
            trial = Trial(self._scripts, connection, turn)
            guilty = search(trial)
            for one in guilty:
                trial.put(one)
            return trial.asides(guilty)

        return await self._writer.run(put)

    def _put_back(self, connection: apsw.Connection, turn: Turn, job: str) -> Standing | None:
        def one(part: str, **values: Any) -> list[dict[str, Any]]:
            return self._scripts.one(connection, f"put_back.{part}", **turn._asdict(), job=job, **values)

        kept, found = one("kept"), one("found")
        if not found or not kept:
            return Standing(UUID(job), State(found[0]["state"]), moved=False) if found else None
        [row], state = kept, State(found[0]["state"])
        # The row goes last: what it says is that the job holds no slots, which a step would free again.
        if state.is_owned and found[0]["lease"] == row["fence"]:
            self._end_attempt(connection, turn, row, one)
        elif state is State.QUEUED:
            one("line_up")
        elif state in aside.TIMERS:
            one("time", kind=row["kind"] or aside.TIMERS[state])
        one("forget")
        return Standing(UUID(job), State(one("found")[0]["state"]), moved=True)

    def _end_attempt(
        self,
        connection: apsw.Connection,
        turn: Turn,
        row: dict[str, Any],
        one: Callable[..., list[dict[str, Any]]],
    ) -> None:
        """Settle an attempt by the report that was kept, or take it from its owner if that leads nowhere."""
        fence, owner = row["fence"], row["owner"] or "unknown"
        before = one("lease", fence=fence)
        settled: list[tuple[Any, ...]] = []
        if row["ending"]:
            one("lend", fence=fence, owner=owner, lease_for=LENT)
            report = aside.reported_from(row, _length(row["after"]))
            values = {**turn._asdict(), **no_claim(owner)}
            settled = self._scripts.bare(connection, "settle_and_claim", rows.reports([report]), **values)
        if not settled:
            one("lend", fence=fence, owner=owner, lease_for=0)
            self._scripts.run_only(connection, "reap", LOST, [str(row["job"])], **turn._asdict(), limit=-1)
        if before:
            one("restore", fence=fence, **before[0])
        else:
            one("end", fence=fence)


def settling(given: Sequence[Reported], values: dict[str, Any]) -> Search:
    """Which reports cannot be recorded."""
    worker = values["worker"]

    def search(trial: Trial) -> list[Found]:
        guilty = trial.guilty(
            given, lambda trial, some: trial.run("settle_and_claim", rows.reports(some), **no_claim(worker))
        )
        return [
            Found(one.lease.job, refusal, Met.SETTLE, worker, owner=worker, report=one)
            for one, refusal in guilty
        ]

    return search


def claiming(values: dict[str, Any]) -> Search:
    """Which of the jobs that stand in line cannot be claimed."""

    def search(trial: Trial) -> list[Found]:
        standing = trial.found("settle_and_claim", PLACES, **values) if values["limit"] else []
        guilty = trial.guilty(
            standing,
            lambda trial, some: trial.run_only("settle_and_claim", PLACES, _jobs(some), **values),
        )
        return [
            Found(
                row["job"],
                refusal,
                Met.CLAIM,
                values["worker"],
                place=(row["line"], row["rank"], row["seq"]),
            )
            for row, refusal in guilty
        ]

    return search


def handing_back(given: Sequence[tuple[Any, ...]], values: dict[str, Any]) -> Search:
    """Which jobs cannot be given back."""
    worker = values["worker"]

    def search(trial: Trial) -> list[Found]:
        guilty = trial.guilty(given, lambda trial, some: trial.run("hand_back", some, **values))
        return [Found(UUID(row[0]), refusal, Met.HAND_BACK, worker, owner=worker) for row, refusal in guilty]

    return search


def promoting(limit: int) -> Search:
    """Which steps of the clock cannot be taken."""

    def search(trial: Trial) -> list[Found]:
        due = trial.found("promote", DUE, limit=limit)
        guilty = trial.guilty(
            due, lambda trial, some: trial.run_only("promote", DUE, _jobs(some), limit=limit)
        )
        return [Found(row["job"], refusal, Met.PROMOTE, "clock") for row, refusal in guilty]

    return search


def reaping(limit: int) -> Search:
    """Which jobs cannot be taken from their owners."""

    def search(trial: Trial) -> list[Found]:
        lost = trial.found("reap", LOST, limit=limit)
        guilty = trial.guilty(
            lost, lambda trial, some: trial.run_only("reap", LOST, _jobs(some), limit=limit)
        )
        return [Found(row["job"], refusal, Met.REAP, "reaper", owner=row["owner"]) for row, refusal in guilty]

    return search


def no_claim(worker: str) -> dict[str, Any]:
    """A turn that only settles."""
    return {
        "worker": worker,
        "lease_for": 0,
        "limit": 0,
        "most_suspensions": MOST_SUSPENSIONS,
        "lines": "[]",
        "turn": 0,
        "step": None,
        "further": 0,
    }


def _jobs(some: Sequence[dict[str, Any]]) -> list[str]:
    return [str(row["job"]) for row in some]


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else timedelta(microseconds=micros)
