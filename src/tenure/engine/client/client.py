"""What every surface calls to enqueue jobs, read them, wait for them and stop them."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import structs

from tenure.core.errors import IdempotencyConflict, JobNotFound, JobUnfinished, StoreError
from tenure.core.model.child_keys import CHILDREN
from tenure.core.model.job import Enqueued, Event, Job, JobStanding, KeysTaken, NewJob
from tenure.core.model.outcome import Attempt
from tenure.core.model.states import UNFINISHED, State
from tenure.core.model.trail import Logged, Usage
from tenure.core.reports.failures import Count, DeadGroups
from tenure.core.reports.operations import Definition, LineStatus, Replayed, WorkerStatus
from tenure.core.reports.reading import Brief, Filter, Listed, Page, RunningJob
from tenure.core.reports.why import Why
from tenure.core.values.documents import Document, canonical_hash
from tenure.engine.client import log_tail
from tenure.engine.client.admission import Admission
from tenure.engine.client.aside import AsideJobs
from tenure.engine.client.bulk import BulkChanges
from tenure.engine.client.completions import Completions
from tenure.engine.client.feed import Feed
from tenure.engine.client.flow_cache import FlowCache
from tenure.engine.client.limits import OperatorLimits
from tenure.engine.client.log_tail import AttemptLine
from tenure.engine.client.pauses import OperatorPauses
from tenure.engine.client.quota import Quota
from tenure.engine.client.registry import Registry
from tenure.engine.client.remote_leases import RemoteLeases
from tenure.engine.client.reschedule import reschedule
from tenure.engine.client.retention import RetentionSettings
from tenure.engine.durable.durable_jobs import DurableJobs
from tenure.engine.durable.lease_progress import LeaseProgress
from tenure.engine.figures.statistics import Statistics
from tenure.engine.figures.trends import Trends
from tenure.engine.health.checkup import StoreHealth
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.schedules.schedules import Schedules
from tenure.engine.webhooks.webhooks import Webhooks, WebhookTerms
from tenure.engine.why import explain
from tenure.storage.contract.draft import Draft
from tenure.storage.contract.store import Store


class JobClient:
    """A store, and the definitions that validate new jobs."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        max_queue_depth: int = 0,
        max_namespace_jobs: int = 0,
        webhook_terms: WebhookTerms | None = None,
    ) -> None:
        """The store is open already; the caller closes it.

        `max_queue_depth` is how many jobs may stand in one queue, and `max_namespace_jobs` how many of one
        namespace may be unfinished, before another job raises NoRoom; 0 means no bound. Without
        `webhook_terms` webhooks are made as with the default settings.
        """
        self._quota = Quota(store, max_queue_depth, max_namespace_jobs)
        self.bulk = BulkChanges(store, self._quota)
        self.statistics = Statistics(store)
        self.trends = Trends(store)
        self.flow_cache = FlowCache(store)
        self.feed = Feed(store)
        self.remote_leases = RemoteLeases(store)
        self.lease_progress = LeaseProgress(store)
        self.aside_jobs = AsideJobs(store)
        self.durable = DurableJobs(store)
        self.pauses = OperatorPauses(store)
        self.limits = OperatorLimits(store)
        self.retention = RetentionSettings(store)
        self.health = StoreHealth(store)
        self._store = store
        self._completions = Completions(store)
        self._admission = Admission(store, registry)
        self.webhooks = Webhooks(store, webhook_terms or WebhookTerms())
        self.schedules = Schedules(store, JobMaker(self._admission, self._quota))
        # These four are calls of `Admission`.
        self.spec, self.validate = self._admission.spec, self._admission.validate
        self.register, self.override = self._admission.register, self._admission.override

    async def close(self) -> None:
        """End every wait and every reading; the store stays open."""
        await self._completions.close()
        await self.remote_leases.close()
        await self.feed.close()

    async def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Validate and record jobs, all or none; returns answers in their order.

        Raises InvalidInput before anything is written. Raises IdempotencyConflict if a key was used before
        for another request; the other jobs of the call are recorded then.
        """
        valid = await self.validate(jobs)
        answers = await self._record(valid)
        if not all(answer.matches for answer in answers):
            await self.check_keys(valid, answers)
        return answers

    async def submit(self, job: NewJob, *, scope: str) -> Enqueued:
        """Record a job whose key is unique in a scope; if the key is taken, return its job, whatever it is.

        Raises InvalidInput before anything is written.
        """
        [valid] = await self.validate([job])
        [answer] = await self._record([structs.replace(valid, scope=scope)])
        return answer

    async def record(self, valid: Sequence[NewJob]) -> list[Enqueued] | KeysTaken:
        """Record validated jobs, all or none; returns answers in their order.

        If a key was used before for another request, nothing is recorded, and KeysTaken names the keys' jobs.
        """
        await self._quota.admit(valid)
        known: set[UUID] = set()
        while isinstance(answer := await self._store.enqueue_strictly(valid, known=known), KeysTaken):
            same = {
                place: job
                for place, job in answer.by.items()
                if job is not None and await self._is_same(valid[place], job)
            }
            if len(same) < len(answer.by):
                return KeysTaken({place: job for place, job in answer.by.items() if place not in same})
            known |= set(same.values())
        self._count(valid, answer)
        return answer

    async def draft(self, jobs: Sequence[NewJob]) -> Draft:
        """Validate jobs and prepare them for the caller's own transaction. Raises as `enqueue` does."""
        return await self._store.draft(await self.validate(jobs))

    async def check_keys(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        """Raise IdempotencyConflict if a key was used before for another request."""
        for job, answer in zip(jobs, answers, strict=True):
            if not answer.matches and not await self._is_same(job, answer.id):
                raise IdempotencyConflict(job.key or "", answer.id)

    async def get(self, job: UUID) -> Job:
        """The job in its present state. Raises JobNotFound."""
        found = await self._store.get(job)
        if found is None:
            raise JobNotFound(job)
        return found

    async def wait(self, job: UUID, timeout: float | None = None, *, explains: bool = False) -> Job:
        """The job, once it has ended. Raises TimeoutError if it has not within so many seconds.

        With `explains` the error says what keeps the job from ending.
        """
        try:
            return await self._completions.wait(job, timeout)
        except TimeoutError as late:
            if not explains:
                raise
            try:
                why = await self.why(job)
            except (JobNotFound, StoreError):
                raise late from None
            raise TimeoutError(f"{late}. {why.sentence}") from None

    async def why(self, job: UUID, *, namespace: str | None = None) -> Why:
        """Why the job does not run, as a caller bound to `namespace` may know it. Raises JobNotFound."""
        found = await self._store.obstacles(job)
        if found is None:
            raise JobNotFound(job)
        return explain(found, await self.flow_cache.get() if found.ahead.n else None, namespace=namespace)

    async def ending_in(self, ending: str, *, namespace: str | None = None, limit: int = 10) -> list[UUID]:
        """The ids that end in these characters, of the newest 100,000 jobs."""
        return await self._store.ending_in(ending, namespace=namespace, limit=limit)

    async def watch(self, job: UUID, on_change: Callable[[Job], None]) -> Job:
        """Call `on_change` with the job now and after each change, until it has ended; returns it then."""
        return await log_tail.watch(self._store, job, on_change)

    async def cancel(
        self,
        job: UUID,
        *,
        actor: str = "api",
        reason: str | None = None,
        states: Collection[State] = UNFINISHED,
    ) -> JobStanding:
        """Ask a job to stop; one that has ended, or is in none of `states`, stays.

        Raises JobNotFound, or JobIsAside for a job that was put aside: no worker would get the request.
        """
        for standing in await self._store.cancel([job], actor=actor, reason=reason, states=states):
            if standing.is_aside:
                raise await self.aside_jobs.refuse(job)
            return standing
        raise JobNotFound(job)

    async def accept(self, job: UUID) -> JobStanding:
        """Let a held job go. Raises JobNotFound."""
        for standing in await self._store.accept([job]):
            return standing
        raise JobNotFound(job)

    async def give_up(self, job: UUID) -> JobStanding:
        """Make a job that waits for another attempt a dead letter. Raises JobNotFound."""
        for standing in await self._store.give_up([job]):
            return standing
        raise JobNotFound(job)

    async def reschedule(
        self,
        job: UUID,
        *,
        run_at: datetime | None = None,
        delay: timedelta | None = None,
        actor: str = "api",
    ) -> JobStanding:
        """Move a job that waits for a time, or for another attempt, to another time; without one, to now.

        A job that waits for that time already stays as it is. Raises JobNotFound, JobIsAside, JobNotWaiting
        for a job in any other state, and InvalidInput for a time that no job may have.
        """
        return await reschedule(self._store, job, run_at=run_at, delay=delay, actor=actor)

    async def replay(
        self, job: UUID, *, params: Document | None = None, forced: bool = False, key: str | None = None
    ) -> Replayed:
        """Run a finished job again as a new job, once per key. Raises JobNotFound or JobUnfinished."""
        found = await self.get(job)
        if params is not None:
            await self._admission.check_params(found.definition, found.version, params)
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
        """The history of a job, or its part after a number. Raises JobNotFound."""
        found = await self._store.events(job, after=after, limit=limit)
        if not found:
            await self.get(job)  # raises if the job is unknown
        return found

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        """The attempts of a job by fence, or those after one. Raises JobNotFound."""
        found = await self._store.attempts(job, after=after, limit=limit)
        if not found:
            await self.get(job)  # raises if the job is unknown
        return found

    async def read_log(
        self,
        job: UUID,
        on_line: Callable[[AttemptLine], None],
        *,
        attempt: int | None = None,
        follow: bool = False,
    ) -> None:
        """Call `on_line` for the log of a job or of one attempt; with `follow`, until the job has ended.

        Raises JobNotFound, or InvalidInput if there was no such attempt.
        """
        await log_tail.read_log(self._store, job, on_line, attempt=attempt, follow=follow)

    async def log(
        self,
        job: UUID,
        *,
        fence: int | None = None,
        after: tuple[int, int] | None = None,
        limit: int = 50,
    ) -> list[AttemptLine]:
        """Part of the log of a job, or of the attempt under a fence, by fence and line number.

        Raises JobNotFound.
        """
        await self.get(job)
        found = await self._store.logs(job, fence=fence, after=after, limit=limit)
        return await self._with_attempts(job, found)

    async def last_log(self, job: UUID, *, limit: int = 50) -> list[AttemptLine]:
        """The end of a job's log. Raises JobNotFound."""
        await self.get(job)
        return await self._with_attempts(job, await self._store.last_logs(job, limit=limit))

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        """Jobs in order of creation, from after `after` on; the store decides how many the page holds."""
        return await self._store.page(which, after=after, newest_first=newest_first, limit=limit)

    async def briefs(self, jobs: Collection[UUID]) -> dict[UUID, Brief]:
        """What lists tell of these jobs besides their state, at most 200 of them."""
        return await self._store.briefs(jobs)

    async def children(self, parent: UUID, *, limit: int = 50) -> list[Listed]:
        """Jobs that a job has started, in the order of creation; which, is left open where there are more."""
        return await self._store.children(parent, limit=limit)

    async def usages(self, jobs: Collection[UUID]) -> dict[UUID, Usage]:
        """What the last attempts of at most 200 jobs used, of those whose workers said it."""
        return await self._store.usages(jobs)

    async def counts(self, which: Filter) -> dict[State, Count]:
        """How many jobs are in each state, whatever states the filter names; of many, the newest count."""
        return await self._store.counts(which)

    async def dead_letters(self, *, limit: int = 50) -> DeadGroups:
        """Dead letters grouped by cause, the group with the latest first."""
        return await self._store.dead_letters(limit=limit)

    async def dead_letter_hours(self, fingerprints: Collection[str]) -> dict[str, dict[int, int]]:
        """How many dead letters of each cause ended in the last day: by how many full hours ago."""
        return await self._store.dead_letter_hours(fingerprints)

    async def definitions(self) -> list[Definition]:
        """The registered definitions, by key and version."""
        return await self._store.definitions()

    async def lines(self) -> list[LineStatus]:
        """Every line, with its jobs and the workers that serve it."""
        return await self._store.lines()

    async def workers(self) -> list[WorkerStatus]:
        """Every worker that was enlisted and not dismissed, with the jobs it runs now."""
        return await self._store.workers()

    async def longest_running(self, *, limit: int = 5) -> list[RunningJob]:
        """The jobs at work for longest."""
        return await self._store.longest_running(limit=limit)

    async def drain(self, worker: str) -> bool:
        """Ask a worker to claim no more and end; False if it is unknown."""
        return await self._store.drain(worker)

    async def _record(self, valid: Sequence[NewJob]) -> list[Enqueued]:
        if not self._quota.is_set:
            return await self._store.enqueue(valid)
        await self._quota.admit(valid)
        answers = await self._store.enqueue(valid)
        self._count(valid, answers)
        return answers

    def _count(self, jobs: Sequence[NewJob], answers: Sequence[Enqueued]) -> None:
        answered = zip(jobs, answers, strict=True)
        self._quota.count((job, answer.state) for job, answer in answered if answer.fresh)

    async def _is_same(self, job: NewJob, found: UUID) -> bool:
        """Whether the first job of a key has the same definition and params; versions may differ."""
        if job.scope == CHILDREN:  # such a key is made of definition and params
            return True
        if job.scope != job.definition:
            return False
        first = await self._store.get(found)
        return (
            first is not None
            and first.definition == job.definition
            and canonical_hash(first.params) == canonical_hash(job.params)
        )

    async def _with_attempts(self, job: UUID, lines: list[Logged]) -> list[AttemptLine]:
        numbers = {attempt.fence: attempt.number for attempt in await self._store.attempts(job)}
        return [AttemptLine(numbers.get(logged.fence, 0), *logged) for logged in lines]
