"""What every surface calls to record jobs, look at them, wait for them and stop them."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import structs

from tenure.core.children import CHILDREN
from tenure.core.documents import Document, canonical_hash
from tenure.core.errors import (
    IdempotencyConflict,
    JobNotFound,
    JobUnfinished,
)
from tenure.core.failures import Count, DeadGroups
from tenure.core.job import Enqueued, Event, Job, NewJob, Standing, Taken
from tenure.core.operations import Definition, LineStatus, Replayed, WorkerStatus
from tenure.core.outcome import Attempt
from tenure.core.reading import Filter, Page
from tenure.core.states import UNFINISHED, State
from tenure.core.trail import Logged
from tenure.engine import following
from tenure.engine.attention import Attention, Lookout
from tenure.engine.feed import Feed
from tenure.engine.following import Said
from tenure.engine.judge import Judge
from tenure.engine.leasing import Leasing
from tenure.engine.mending import Mending
from tenure.engine.quota import Quota
from tenure.engine.registry import Registry
from tenure.engine.statistics import Statistics
from tenure.engine.sweeping import Sweeps
from tenure.engine.waiting import Endings
from tenure.storage.contract import Store
from tenure.storage.draft import Draft


class Client:
    """A store, and the definitions by which what goes into it is judged."""

    def __init__(
        self, store: Store, registry: Registry, *, max_queue_depth: int = 0, max_namespace_jobs: int = 0
    ) -> None:
        """The store is opened already, and closed by whoever opened it.

        `max_queue_depth` is how many jobs may stand in one queue, and `max_namespace_jobs` how many of one
        namespace may be unfinished, before NoRoom is raised to whoever would record another one; 0 for any
        number.
        """
        self._quota = Quota(store, max_queue_depth, max_namespace_jobs)
        self.sweeps = Sweeps(store, self._quota)
        self.statistics = Statistics(store)
        self.feed = Feed(store)
        self.leasing = Leasing(store)
        self.mending = Mending(store)
        self._lookout = Lookout(store)
        self._store = store
        self._endings = Endings(store)
        self._judge = Judge(store, registry)
        # What is asked of definitions, and how new jobs are held against them, is all there.
        self.spec, self.judge = self._judge.spec, self._judge.judge
        self.register, self.override = self._judge.register, self._judge.override

    async def close(self) -> None:
        """End every wait and every reading; the store stays open."""
        await self._endings.close()
        await self.leasing.close()
        await self.feed.close()

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Record jobs, all or none, each judged by its definition; answers in their order.

        Raises InvalidInput before anything is written. Raises IdempotencyConflict when a key was used before
        for something else; the other jobs of the call are recorded then.
        """
        judged = await self.judge(jobs)
        answers = await self._recorded(judged)
        if not all(answer.matches for answer in answers):
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
        """Ask a job to stop; one that has ended, or is in none of `states`, stays.

        Raises JobNotFound, and JobIsAside where nobody would hear of it.
        """
        for standing in await self._store.cancel([job], actor=actor, reason=reason, states=states):
            if standing.is_aside:
                raise await self.mending.refuse(job)
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
            await self._judge.check_params(found.definition, found.version, params)
        refusal = await self._quota.refusal([found])
        [replayed] = await self._store.replay(
            [job], params=params, forced=forced, key=key, make=refusal is None
        )
        if replayed.state is None:
            raise JobNotFound(job)
        if replayed.is_left and refusal is not None:
            raise refusal
        if replayed.replay is None:
            raise JobUnfinished(job, found.definition, f"is still {replayed.state}")
        self._quota.count([(found, State.QUEUED)] if replayed.fresh else [])
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
        if not self._quota.is_set:
            return await self._store.enqueue(judged)
        await self._quota.admit(judged)
        answers = await self._store.enqueue(judged)
        self._count(judged, answers)
        return answers

    def _count(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        answered = zip(jobs, answers, strict=True)
        self._quota.count((job, answer.state) for job, answer in answered if answer.fresh)

    async def _is_same(self, asked: NewJob, found: UUID) -> bool:
        """Whether a key's first job is what was asked for, the version apart if the caller named none."""
        if asked.scope == CHILDREN:  # such a key is made of what is asked for
            return True
        if asked.scope != asked.definition:
            return False
        first = await self._store.get(found)
        return (
            first is not None
            and first.definition == asked.definition
            and canonical_hash(first.params) == canonical_hash(asked.params)
        )

    async def _said(self, job: UUID, lines: list[Logged]) -> list[Said]:
        numbers = {attempt.fence: attempt.number for attempt in await self._store.attempts(job)}
        return [Said(numbers.get(logged.fence, 0), *logged) for logged in lines]
