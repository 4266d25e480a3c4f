"""What every surface calls to record jobs, look at them, wait for them and stop them."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from time import monotonic
from uuid import UUID

from msgspec import structs

from tenure.core.bounds import named
from tenure.core.documents import EMPTY, Document, canonical_hash
from tenure.core.errors import (
    IdempotencyConflict,
    JobNotFound,
    JobUnfinished,
    QueueFull,
    UnknownDefinition,
)
from tenure.core.failures import Count, DeadGroups
from tenure.core.job import Enqueued, Event, Job, NewJob, Standing, Taken
from tenure.core.operations import Definition, LineStatus, Replayed, WorkerStatus
from tenure.core.outcome import Attempt
from tenure.core.override import Override
from tenure.core.reading import Filter, Page
from tenure.core.spec import Spec, refuse_reserved
from tenure.core.states import UNFINISHED, State
from tenure.core.trail import Logged
from tenure.engine import following
from tenure.engine.attention import Attention, Lookout
from tenure.engine.feed import Feed
from tenure.engine.following import Said
from tenure.engine.quota import Quota
from tenure.engine.registering import register
from tenure.engine.registry import Registry
from tenure.engine.schemas import check_schema
from tenure.engine.statistics import Statistics
from tenure.engine.sweeping import Sweeps
from tenure.engine.waiting import Endings
from tenure.storage.contract import Store
from tenure.storage.draft import Draft

FRESH = 10.0
"""Seconds for which what others have registered, and operators have set, is taken from memory."""


class Client:
    """A store, and the definitions by which what goes into it is judged."""

    def __init__(self, store: Store, registry: Registry, *, max_queue_depth: int = 0) -> None:
        """The store is opened already, and closed by whoever opened it.

        `max_queue_depth` is how many jobs may stand in one queue before QueueFull is raised to whoever would
        record another one; 0 for any number.
        """
        self._quota = Quota(store, max_queue_depth)
        self.sweeps = Sweeps(store, self._quota)
        self.statistics = Statistics(store)
        self.feed = Feed(store)
        self._lookout = Lookout(store)
        self._store = store
        self._registry = registry
        self._endings = Endings(store)
        self._others: dict[tuple[str, int], Document] = {}
        self._overrides: dict[tuple[str, int], Document] = {}
        self._specs: dict[Document, Spec] = {}
        self._reading = asyncio.Lock()
        self._read_at: float | None = None

    async def close(self) -> None:
        """End every wait and every reading; the store stays open."""
        await self._endings.close()
        await self.feed.close()

    async def spec(self, key: str, version: int | None = None) -> Spec:
        """A definition of this process, or else one that a worker has registered.

        Without a version the newest one. Raises UnknownDefinition when there is none.
        """
        named("definition", key)
        refuse_reserved(key)
        if spec := self._registry.find(key, version):
            return spec
        if not (spec := self._find(key, version)) or self._is_stale():
            await self._read_definitions()
            spec = self._find(key, version)
        if spec is None:
            raise UnknownDefinition(key, version)
        return spec

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Record jobs, all or none, each judged by its definition; answers in their order.

        Raises InvalidInput before anything is written. Raises IdempotencyConflict when a key was used before
        for something else; the other jobs of the call are recorded then.
        """
        judged = await self.judge(jobs)
        answers = await self._recorded(judged)
        await self.check_keys(judged, answers)
        return answers

    async def submit(self, job: NewJob, *, scope: str) -> Enqueued:
        """Record a job whose key is unique in a scope; a key that is taken answers with its job, whichever.

        Raises InvalidInput before anything is written.
        """
        [judged] = await self.judge([job])
        [answer] = await self._recorded([structs.replace(judged, scope=scope)])
        return answer

    async def record(self, judged: Sequence[NewJob]) -> list[Enqueued] | Taken:
        """Record jobs that were judged, all or none; answers in their order.

        When a key was used before for something else nothing is recorded: the answer says whose keys.
        """
        await self._quota.admit(judged)
        known: set[UUID] = set()
        while isinstance(answer := await self._store.enqueue_strictly(judged, known=known), Taken):
            same = {
                place: job
                for place, job in answer.by.items()
                if job is not None and await self._is_same(judged[place], job)
            }
            if len(same) < len(answer.by):
                return Taken({place: job for place, job in answer.by.items() if place not in same})
            known |= set(same.values())
        self._count(judged, answer)
        return answer

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        """Judge jobs and make them ready for the caller's own transaction. Raises as `enqueue` does."""
        return await self._store.draft(await self.judge(jobs))

    async def judge(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """The jobs, changed by what operators have set for their definitions.

        Raises InvalidInput unless each job's definition is known and its params fit it.
        """
        if self._is_stale():
            async with self._reading:  # one of many callers reads for all
                if self._is_stale():
                    await self._read_definitions()
        judged = []
        known: dict[tuple[str, int], tuple[Spec, Override | None]] = {}
        for job in jobs:
            name = job.definition, job.version
            if name not in known:
                known[name] = await self.spec(*name), self._override(name)
            spec, override = known[name]
            self._registry.check_params(spec, job.params)
            judged.append(job if override is None else override.applied(job, spec))
        return judged

    async def check_keys(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        """Raise IdempotencyConflict where a key was used before for something else."""
        for job, answer in zip(jobs, answers, strict=True):
            if not answer.matches and not await self._is_same(job, answer.id):
                raise IdempotencyConflict(job.key or "", answer.id)

    async def get(self, job: UUID) -> Job:
        """The job as it stands. Raises JobNotFound."""
        found = await self._store.get(job)
        if found is None:
            raise JobNotFound(job)
        return found

    async def wait(self, job: UUID, timeout: float | None = None) -> Job:
        """The job, once it has ended. Raises TimeoutError when it has not, in so many seconds."""
        return await self._endings.wait(job, timeout)

    async def watch(self, job: UUID, on_change: Callable[[Job], None]) -> Job:
        """Tell of a job and of each change that is seen, until it has ended; answers as `wait` does."""
        return await following.watch(self._store, job, on_change)

    async def cancel(
        self,
        job: UUID,
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> Standing:
        """Ask a job to stop; one that has ended, or is in none of `states`, stays. Raises JobNotFound."""
        for standing in await self._store.cancel([job], actor=actor, reason=reason, states=states):
            return standing
        raise JobNotFound(job)

    async def accept(self, job: UUID) -> Standing:
        """Let a held job go. Raises JobNotFound."""
        for standing in await self._store.accept([job]):
            return standing
        raise JobNotFound(job)

    async def give_up(self, job: UUID) -> Standing:
        """Let a job that waits for another attempt be a dead letter instead. Raises JobNotFound."""
        for standing in await self._store.give_up([job]):
            return standing
        raise JobNotFound(job)

    async def replay(
        self, job: UUID, *, params: Document | None = None, forced: bool = False, key: str | None = None
    ) -> Replayed:
        """Run a finished job again, as a new one; under one key once. Raises JobNotFound or JobUnfinished."""
        found = await self.get(job)
        if params is not None:
            self._registry.check_params(await self.spec(found.definition, found.version), params)
        make = await self._quota.has_room([found.queue])
        [replayed] = await self._store.replay([job], params=params, forced=forced, key=key, make=make)
        if replayed.state is None:
            raise JobNotFound(job)
        if replayed.is_left:
            raise QueueFull(found.queue)
        if replayed.replay is None:
            raise JobUnfinished(job, found.definition, f"is still {replayed.state}")
        self._quota.count([found.queue] if replayed.fresh else [])
        return replayed

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The history of a job, or the part of it behind a number. Raises JobNotFound."""
        found = await self._store.events(job, after=after, limit=limit)
        if not found:
            await self.get(job)  # nothing behind a number is not an unknown job
        return found

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        """The starts of a job by fence, or those behind one. Raises JobNotFound."""
        found = await self._store.attempts(job, after=after, limit=limit)
        if not found:
            await self.get(job)  # a job that never ran is not an unknown one
        return found

    async def read_log(
        self, job: UUID, on_line: Callable[[Said], None], *, attempt: int | None = None, follow: bool = False
    ) -> None:
        """Tell of what a job's attempts wrote, or the one with this number; `follow` until it has ended.

        Raises JobNotFound, and InvalidInput for an attempt that there was not.
        """
        await following.read_log(self._store, job, on_line, attempt=attempt, follow=follow)

    async def log(self, job: UUID, *, after: tuple[int, int] | None = None, limit: int = 50) -> list[Said]:
        """Part of what a job's attempts wrote, by fence and number. Raises JobNotFound."""
        await self.get(job)
        return await self._said(job, await self._store.logs(job, after=after, limit=limit))

    async def last_log(self, job: UUID, *, limit: int = 50) -> list[Said]:
        """The end of what a job's attempts wrote. Raises JobNotFound."""
        await self.get(job)
        return await self._said(job, await self._store.last_logs(job, limit=limit))

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        """Jobs by the order of their creation, from behind `after` on; as full as the store makes it."""
        return await self._store.page(which, after=after, newest_first=newest_first, limit=limit)

    async def counts(self, which: Filter) -> dict[State, Count]:
        """How many jobs are in each state, whatever states the filter names: of many, the newest count."""
        return await self._store.counts(which)

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        """Dead letters by what they died of, the groups with the latest first."""
        return await self._store.dead_letters(limit=limit)

    async def attention(self) -> Attention:
        """What an operator should look after, as it was two seconds ago at most."""
        return await self._lookout.look()

    async def definitions(self) -> list[Definition]:
        """What workers have registered, by key and version."""
        return await self._store.definitions()

    async def register(
        self, spec: Spec, *, by: str, replace: bool = False, resizes: bool = True
    ) -> Definition:
        """Put a definition on record for workers elsewhere; answers with what then stands there.

        That is something else when the version was registered before with other content, unless `replace`.
        Limits that are there take a size that is new in it, unless not `resizes`.
        Raises InvalidInput when params cannot be judged by its schema.
        """
        refuse_reserved(spec.key)
        check_schema(spec.params_schema)
        document = spec.document()
        known = await self._on_record(spec)
        if known is None or (known.spec != document and replace):
            await register(self._store, [spec], by, replace=replace, resizes=resizes)
            self._read_at = None
            known = await self._on_record(spec)
        if known is None:
            raise UnknownDefinition(spec.key, spec.version)
        return known

    async def override(self, definition: Definition, wanted: Override) -> None:
        """Set what is to hold instead of what a definition's code says, for jobs accepted from now on.

        Raises InvalidInput when its jobs cannot be so. Whoever has read the definitions before may take up
        to ten seconds to know of it.
        """
        override = EMPTY  # which takes back whatever was set, be it by a later version
        if wanted != Override():
            wanted.check(Spec.read(definition.spec))
            override = wanted.document(definition.override)
        asked = structs.replace(definition, override=override)
        for newer in await self._store.put_definitions([asked]):
            # A worker has registered it anew since it was read here: that stands.
            await self._store.put_definitions([structs.replace(newer, override=override)])

    async def lines(self) -> list[LineStatus]:
        """Every line, with how much stands in it and who serves it."""
        return await self._store.lines()

    async def pause(
        self, queue: str, *, until: datetime | None = None, by: str = "api", reason: str | None = None
    ) -> None:
        """Let nothing be claimed from a queue, until resumed or until a time."""
        await self._store.pause(queue, until=until, by=by, reason=reason)

    async def resume(self, queue: str) -> bool:
        """End the pause of a queue; answers whether there was one."""
        return await self._store.resume(queue)

    async def workers(self) -> list[WorkerStatus]:
        """Every worker that has not stopped in good order within the last day."""
        return await self._store.workers()

    async def drain(self, worker: str) -> bool:
        """Ask a worker to claim no more and end; False when it is unknown."""
        return await self._store.drain(worker)

    async def _recorded(self, judged: Sequence[NewJob]) -> list[Enqueued]:
        await self._quota.admit(judged)
        answers = await self._store.enqueue(judged)
        self._count(judged, answers)
        return answers

    def _count(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        made = (one.fresh and one.state is State.QUEUED for one in answers)
        self._quota.count(job.queue for job, is_in_line in zip(jobs, made, strict=True) if is_in_line)

    async def _on_record(self, spec: Spec) -> Definition | None:
        named = (known for known in await self._store.definitions() if known.key == spec.key)
        return next((known for known in named if known.version == spec.version), None)

    async def _is_same(self, asked: NewJob, found: UUID) -> bool:
        """Whether a key's first job is what was asked for, the version apart if the caller named none."""
        if asked.scope != asked.definition:
            return False
        first = await self._store.get(found)
        return (
            first is not None
            and first.definition == asked.definition
            and canonical_hash(first.params) == canonical_hash(asked.params)
        )

    def _find(self, key: str, version: int | None) -> Spec | None:
        versions = [known for name, known in self._others if name == key]
        wanted = max(versions, default=0) if version is None else version
        document = self._others.get((key, wanted))
        if document is None:
            return None
        if document not in self._specs:
            self._specs[document] = Spec.read(document)
        return self._specs[document]

    def _override(self, name: tuple[str, int]) -> Override | None:
        document = self._overrides.get(name)
        return None if document is None else Override.read(document)

    def _is_stale(self) -> bool:
        return self._read_at is None or monotonic() - self._read_at > FRESH

    async def _said(self, job: UUID, lines: list[Logged]) -> list[Said]:
        numbers = {attempt.fence: attempt.number for attempt in await self._store.attempts(job)}
        return [Said(numbers.get(logged.fence, 0), *logged) for logged in lines]

    async def _read_definitions(self) -> None:
        registered = await self._store.definitions()
        self._others = {(known.key, known.version): known.spec for known in registered}
        self._specs = {text: spec for text, spec in self._specs.items() if text in self._others.values()}
        self._overrides = {
            (known.key, known.version): known.override for known in registered if known.override is not None
        }
        self._read_at = monotonic()
