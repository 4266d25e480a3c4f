"""Requests about log lines, notes, children and hooks of attempts."""

from typing import Any, NamedTuple

from tenure.core.model.lease import Lease
from tenure.core.model.trail import LogLine, Note, Trail
from tenure.core.reports.operations import Definition
from tenure.core.values.bounds import MOST_NOTES
from tenure.core.values.documents import Document
from tests.model.requests import LINES, Enqueue, SettleAndClaim, new_job
from tests.model.store_and_model import Held, Side
from tests.storage.clock import START

NOTES = {"said": Note("custom:said", Document('{"n":1}')), "bare": Note("custom:bare")}
FAILED_HOOK = Note("hook_failed", Document('"on_end"'))


class Record(NamedTuple):
    """Each lease presented has these lines, by number, and these notes."""

    by: str
    shown: list[Held]
    lines: list[int]
    notes: list[str]

    async def make(self, side: Side) -> None:
        worker = side.worker(self.by, self.shown)
        # A number that comes again brings another text: the first one stays.
        lines = tuple(LogLine(n, START, "info", f"{n} after {side.model.calls}") for n in self.lines)
        notes = tuple(NOTES[name] for name in self.notes)
        trails = [Trail(lease, lines, notes) for lease in side.leases(self.shown)]
        answer = await side.store.record(worker, trails)
        side.compare("answer to record", answer, side.model.record(worker, trails))
        side.model.calls += 1


class ReadLogs(NamedTuple):
    jobs: list[int]
    only_last: bool
    limit: int

    async def make(self, side: Side) -> None:
        for job in side.ids(self.jobs):
            found = side.model.jobs.get(job)
            requested: dict[str, Any] = {"fence": found.fence if found and self.only_last else None}
            after = None
            while after != (after := await _read_on(side, job, after, limit=self.limit, **requested)):
                pass


async def _read_on(side: Side, job: Any, after: tuple[int, int] | None, **requested: Any) -> Any:
    """Where to go on; nowhere else when nothing was left."""
    answer = await side.store.logs(job, after=after, **requested)
    side.compare("answer to logs", answer, side.model.logs(job, after=after, **requested))
    return (answer[-1].fence, answer[-1].line.n) if answer else after


class Annotate(NamedTuple):
    """Leases are shown one by one; of jobs that were never claimed, none."""

    shown: list[Held]
    unclaimed: list[int]

    async def make(self, side: Side) -> None:
        leases = [*side.leases(self.shown), *(Lease(job, 0) for job in side.ids(self.unclaimed))]
        for lease in leases:
            answer = await side.store.annotate(lease, FAILED_HOOK)
            side.compare("answer to annotate", answer, side.model.annotate(lease, FAILED_HOOK))
            history = await side.store.events(lease.job)
            side.compare("history of a job with a note", history, side.model.events(lease.job))


class UseUpNotes(NamedTuple):
    """Jobs are set to have all the notes they may but one; to write them all would take too long."""

    jobs: list[int]

    async def make(self, side: Side) -> None:
        for job in set(side.ids(self.jobs)) & side.model.jobs.keys():
            if not side.model.jobs[job].state.is_final:
                where = f"notes = {MOST_NOTES - 1} WHERE id = '{job}'"
                await side.backend.sql(f"UPDATE tenure.job_state SET {where}")
                side.model.notes[job] = MOST_NOTES - 1


class Spawn(NamedTuple):
    by: str
    shown: Held
    requested: list[dict[str, Any]]

    async def make(self, side: Side) -> None:
        worker = side.worker(self.by, [self.shown])
        [lease] = side.leases([self.shown])
        jobs = [new_job(**requested) for requested in self.requested]
        answer = await side.store.spawn(worker, lease, jobs)
        side.compare("answer to spawn", answer, side.model.spawn(worker, lease, jobs, answer))
        side.numbered += [made.id for made in answer or [] if made.fresh]


class SpawnAgain(NamedTuple):
    """A job asks for the same child twice."""

    async def make(self, side: Side) -> None:
        await Enqueue([{"line": "post"}]).make(side)
        parent = Held(len(side.numbered), 0)
        await SettleAndClaim("a", [], lines=["post"], limit=100, lease_for=30).make(side)
        for _ in range(2):
            await Spawn("a", parent, [{"line": "post", "key": "child"}]).make(side)


class Register(NamedTuple):
    """Definitions are registered, some with hooks."""

    hooked: list[str]

    async def make(self, side: Side) -> None:
        named = sorted({line.definition for line in LINES.values()})
        given = [
            Definition(key=name, version=1, spec=Document(f'{{"hooks":{self._hooks(name)}}}'))
            for name in named
        ]
        answer = await side.store.put_definitions(given)
        side.compare("answer to put_definitions", answer, side.model.put_definitions(given))

    def _hooks(self, name: str) -> str:
        return '["on_end"]' if name in self.hooked else "[]"


class FollowUp(NamedTuple):
    lines: list[str]
    limit: int

    async def make(self, side: Side) -> None:
        lines = [LINES[name] for name in self.lines]
        is_owed = (await side.store.outlook(lines)).owed
        side.compare("whether anything is owed", is_owed, bool(side.model.owed(lines)))
        answer = await side.store.follow_up(lines, self.limit)
        side.compare("answer to follow_up", answer, side.model.follow_up(lines, self.limit, answer))


class Words(NamedTuple):
    """Everything is recorded for every job, so that every refusal is seen too."""

    jobs: list[int]

    async def make(self, side: Side) -> None:
        shown = [Held(job, 0) for job in self.jobs]
        await Record("a", shown, lines=[1, 2], notes=["said", "bare"]).make(side)
        await Record("a", shown, lines=[2, 3], notes=[]).make(side)
        await UseUpNotes(self.jobs[::5]).make(side)
        await Record("b", shown, lines=[], notes=["said", "bare"]).make(side)
        await Annotate(shown, unclaimed=self.jobs[::4]).make(side)
        await ReadLogs(self.jobs[::3], only_last=False, limit=2).make(side)
        await ReadLogs(self.jobs[::5], only_last=True, limit=100).make(side)
        for held in shown[-17:]:
            await Spawn("a", held, []).make(side)
        for lines in (["mail"], ["post", "mail"]):
            await FollowUp(lines, limit=1).make(side)
            await FollowUp(lines, limit=100).make(side)
