"""The contract about what attempts leave behind beside their outcomes: notes, lines, children, hooks owed."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import Enqueued, Event, Job, NewJob
from tenure.core.model.lease import Lease, Line
from tenure.core.model.trail import Logged, LogLine, Note, Recorded, Trail
from tenure.core.reports.operations import Definition
from tenure.core.values.bounds import MOST_NOTES
from tests.model.decisions import line_of
from tests.model.model import Model

NO_HOOKS = '{"hooks":[]}'


class Trails(Model):
    """The verbs for notes, log lines, children and endings that are not followed up yet."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        super().__init__(now, visited)
        self.notes: dict[UUID, int] = defaultdict(int)
        self._logs: dict[UUID, dict[tuple[int, int], LogLine]] = defaultdict(dict)
        self._definitions: dict[tuple[str, int], Definition] = {}
        self._owed: set[UUID] = set()

    def record(self, worker: str, trails: Sequence[Trail]) -> Recorded:
        leases = {trail.lease for trail in trails}
        kept = {lease for lease in leases if self.holds("record", worker, lease)}
        full = set()
        for trail in trails:
            if trail.lease in kept:
                self._log(trail)
                if not self._note_all(trail, worker):
                    full.add(trail.lease)
        return Recorded(lost=frozenset(leases - kept), full=frozenset(full))

    def _log(self, trail: Trail) -> None:
        written = self._logs[trail.lease.job]
        for line in trail.lines:
            place = trail.lease.fence, line.n
            self.visited(f"record: line {'sent before' if place in written else 'written'}")
            written.setdefault(place, line)

    def _note_all(self, trail: Trail, worker: str) -> bool:
        """Whether the job may have as many notes."""
        for note in trail.notes:
            job = self.jobs[trail.lease.job]
            if self.notes[job.id] >= MOST_NOTES:
                self.visited("record: full")
                return False
            self._noted(job, note, job.attempt, worker)
            self.visited(f"record: note while {job.state}")
        return True

    def annotate(self, lease: Lease, note: Note) -> bool:
        job = self.jobs.get(lease.job)
        if refusal := self._why_not(job, lease):
            self.visited(f"annotate: {refusal}")
            return False
        assert job is not None
        ended = [attempt for attempt in self._ended[job.id] if attempt.fence == lease.fence]
        number = ended[-1].number if ended else job.attempt
        self._noted(job, note, number, self.owner(job) if job.fence else "")
        self.visited(f"annotate: {job.state}{'' if job.fence else ', never claimed'}")
        return True

    def _why_not(self, job: Job | None, lease: Lease) -> str | None:
        if job is None:
            return "unknown job"
        if job.fence != lease.fence:
            return "claimed again"
        if not lease.fence and not job.state.is_final:
            return "not claimed yet"
        return "full" if self.notes[job.id] >= MOST_NOTES else None

    def _noted(self, job: Job, note: Note, attempt: int, actor: str) -> None:
        """Put a note on record; nothing else of a finished job changes."""
        self._events[job.id].append(
            Event(
                job=job.id,
                n=job.events + 1,
                type=note.type,
                source=job.state,
                target=job.state,
                attempt=attempt,
                fence=job.fence,
                at=self.now,
                actor=actor,
                payload=note.payload,
            )
        )
        self.notes[job.id] += 1
        moment = job.updated_at if job.state.is_final else self.now
        self.jobs[job.id] = replace(job, events=job.events + 1, updated_at=moment)

    def logs(
        self, job: UUID, *, fence: int | None, after: tuple[int, int] | None, limit: int
    ) -> list[Logged]:
        behind = [
            Logged(place[0], line)
            for place, line in sorted(self._logs.get(job, {}).items())
            if place > (after or (0, 0)) and fence in {None, place[0]}
        ]
        self.visited_if(behind, f"logs: {'part' if len(behind) > limit else 'all'}")
        self.visited_if(behind and fence is not None, "logs: of one attempt")
        return behind[:limit]

    def spawn(
        self, worker: str, lease: Lease, requested: Sequence[NewJob], chosen: Sequence[Enqueued] | None
    ) -> list[Enqueued] | None:
        if not self.holds("spawn", worker, lease):
            return None
        assert chosen is not None, "spawn: refused though its lease holds"
        born = self.enqueue([replace(job, parent=lease.job) for job in requested], chosen)
        self.visited(f"spawn: {'nothing asked' if not born else f'of a {self.jobs[lease.job].state} job'}")
        self.visited_if(any(not one.fresh for one in born), "spawn: key taken")
        return born

    def put_definitions(self, given: Sequence[Definition]) -> list[Definition]:
        before = [self._definitions.get((one.key, one.version)) for one in given]
        changed = [
            old for old, new in zip(before, given, strict=True) if old is not None and old.spec != new.spec
        ]
        for one in given:
            self._definitions[one.key, one.version] = replace(one, registered_at=self.now)
        self.visited_if(changed, "put_definitions: another before")
        return sorted(changed, key=lambda one: (one.key, one.version))

    def owe(self, job: Job) -> None:
        known = self._definitions.get((job.definition, job.version))
        if known is not None and known.spec != NO_HOOKS:
            self._owed.add(job.id)

    def owed(self, lines: Collection[Line]) -> set[UUID]:
        """The jobs of lines whose endings are not followed up yet."""
        return {job for job in self._owed if line_of(self.jobs[job]) in lines}

    def follow_up(self, lines: Collection[Line], limit: int, chosen: Sequence[UUID]) -> list[UUID]:
        free = self.owed(lines)
        assert len(chosen) == len(set(chosen)) == min(limit, len(free)), "follow_up: took too many or too few"
        assert free.issuperset(chosen), "follow_up: took what is not owed"
        self._owed.difference_update(chosen)
        self.visited(
            f"follow_up: {'nothing' if not chosen else 'some' if len(chosen) < len(free) else 'all'}"
        )
        return list(chosen)

    def forget(self, job: UUID) -> None:
        """The job was removed, and with it all its lines and notes."""
        self._owed.discard(job)
        self._logs.pop(job, None)
        self.notes.pop(job, None)
