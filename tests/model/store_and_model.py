"""One store with its model beside it: each request goes to both, and what they show is compared.

Requests name a job by its number, in the order in which jobs were recorded, and a lease by its job and how
many leases ago that was. So one request can be made on every side, whatever ids and fences its store chose.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from msgspec import Struct

from tenure.core.model.job import Job
from tenure.core.model.lease import Lease
from tenure.core.reports.operations import LineStatus, PauseScope
from tenure.core.reports.reading import Position
from tenure.core.values.bounds import LARGEST_PAGE
from tests.model.finished_jobs import WholeModel
from tests.storage.backends import Backend

OWNER = "its owner"
NEVER_GRANTED = 10**9
A_TURN = 8
"""Within so many requests every job is looked at whose state nothing was to change."""


class Held(NamedTuple):
    """A lease that a caller presents: the job's latest one, or an earlier one."""

    job: int
    leases_ago: int


class Side:
    """A store, its model, and the jobs in them by number."""

    def __init__(self, backend: Backend, visited: Callable[[str], None]) -> None:
        self.backend = backend
        self.store = backend.store()
        self.model = WholeModel(backend.clock.now, visited)
        self.numbered: list[UUID] = []
        self.orders = 0
        self.position: Position | None = None
        self.fed: dict[UUID, int] = {}
        self._seen: dict[UUID, Job | None] = {}
        self._looks = 0

    async def open(self) -> None:
        await self.backend.prepare()
        await self.store.open()

    async def close(self) -> None:
        await self.store.close()
        await self.backend.dispose()

    async def advance(self, seconds: int) -> None:
        if seconds:
            self.model.now = await self.backend.clock.advance(timedelta(seconds=seconds))

    def ids(self, jobs: Iterable[int]) -> list[UUID]:
        """The ids of jobs; for jobs that do not exist, ids that do not exist either."""
        return [self.numbered[job - 1] if job <= len(self.numbered) else UUID(int=job) for job in jobs]

    def leases(self, shown: Iterable[Held]) -> list[Lease]:
        """The leases presented; for one that never existed, one with an invented fence."""
        return [self._lease(*held) for held in shown]

    def worker(self, by: str, shown: Sequence[Held]) -> str:
        """The worker that calls: one by name, or the owner of the first lease presented."""
        granted = [self.model.holdings.get(lease.fence) for lease in self.leases(shown)]
        return by if by != OWNER else next((holding.worker for holding in granted if holding), "a")

    def compare(self, what: str, seen: object, expected: object) -> None:
        """Fail, and say where, if what is seen is not what was expected."""
        differs = f"{what} differs from the model on {self.backend.kind}"
        assert seen == expected, "\n".join([differs, *_differences(seen, expected)])

    async def compare_lines(self) -> None:
        """Lines and limits. A request whose key was taken may have left a line that never had a job.

        The model does not know such a line, and a pause of its queue or definition does not make it known.
        """
        shown = await self.store.lines()
        lines = [one for one in shown if _is_named(one) or one.line in self.model.known_lines]
        self.compare("where lines stand", lines, self.model.lines())
        self.compare("what is held of limits", await self.store.limits(), self.model.limits())

    async def compare_jobs(self) -> None:
        """All jobs that were to change, with their records, and in turn those that were to stay as they are.

        Most are not asked for most of the time: to look at each of them after each request would take nine
        tenths of a run. What was finished before is looked at in the end.
        """
        self._looks += 1
        for number, job in enumerate(self.numbered, 1):
            seen, expected = self._seen.get(job), self.model.get(job)
            is_its_turn = (number + self._looks) % A_TURN == 0 and not (seen and seen.state.is_final)
            if seen != expected or is_its_turn:
                self.compare(f"job {number}", await self.store.get(job), expected)
            if seen != expected:
                await self._compare_records(number, job)
            self._seen[job] = expected

    async def compare_all(self) -> None:
        """All jobs and their records: nothing may have crept in where nothing has changed."""
        await self.compare_progress(range(1, len(self.numbered) + 1))
        for number, job in enumerate(self.numbered, 1):
            self.compare(f"job {number}", await self.store.get(job), self.model.get(job))
            await self._compare_records(number, job)
            reading: dict[str, Any] = {"fence": None, "after": None, "limit": 1000}
            self.compare(
                f"log of job {number}", await self.store.logs(job, **reading), self.model.logs(job, **reading)
            )

    async def compare_progress(self, numbers: Iterable[int]) -> None:
        """What these jobs have kept and wait for, and all effects in doubt."""
        jobs = self.ids(dict.fromkeys(numbers))
        waits = {job: wait for job in jobs if (wait := self.model.open_wait(job))}
        self.compare("what is waited for", await self.store.open_waits(jobs), waits)
        for job in jobs:
            self.compare("steps", await self.store.steps(job), self.model.steps(job))
            told = sorted(await self.store.signals(job), key=lambda one: one.name)
            self.compare("signals", told, self.model.signals(job))
        doubts = await self.store.effects_in_doubt(limit=LARGEST_PAGE)
        self.compare("effects in doubt", doubts, self.model.effects_in_doubt()[:LARGEST_PAGE])

    async def _compare_records(self, number: int, job: UUID) -> None:
        events, attempts = await self.store.events(job), await self.store.attempts(job)
        self.compare(f"history of job {number}", events, self.model.events(job))
        self.compare(f"record of the attempts of job {number}", attempts, self.model.attempts(job))

    def _lease(self, job: int, leases_ago: int) -> Lease:
        [job_id] = self.ids([job])
        fences = [attempt.fence for attempt in self.model.attempts(job_id)]
        return Lease(job_id, fences[-1 - leases_ago] if leases_ago < len(fences) else NEVER_GRANTED)


def _is_named(status: LineStatus) -> bool:
    """Whether a line has had jobs, or a pause of its own."""
    own = status.pause is not None and status.pause.scope == PauseScope.of(status.line)
    return own or bool(status.counts)


def _differences(seen: Any, expected: Any) -> list[str]:
    """Where two answers differ, in as few lines as will tell."""
    if isinstance(seen, list) and isinstance(expected, list) and len(seen) == len(expected):
        pairs = zip(seen, expected, strict=True)
        return [line for one, other in pairs if one != other for line in _differences(one, other)]
    if isinstance(seen, Struct) and type(seen) is type(expected):
        names = [name for name in seen.__struct_fields__ if getattr(seen, name) != getattr(expected, name)]
        return [f"  {name}: {getattr(seen, name)!r}, expected {getattr(expected, name)!r}" for name in names]
    return [f"  {seen!r}, expected", f"  {expected!r}"]
