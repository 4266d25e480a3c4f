"""Schedules as operators and code change them: every change is checked before anything is written."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import islice

from msgspec.structs import replace

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.schedule.backlog import gap_until
from tenure.core.schedule.jitter import jitter_of
from tenure.core.schedule.schedule import (
    ComingTick,
    KnownSchedule,
    NewSchedule,
    Overlap,
    Schedule,
    ScheduleName,
    Source,
    Tick,
    TickOnRecord,
    TickPlace,
    UnreadableSchedule,
)
from tenure.core.values.bounds import LARGEST_PAGE, printable, whole
from tenure.core.values.documents import Document
from tenure.engine.schedules.job_maker import JobMaker
from tenure.storage.contract.store import Store

TRIES = 5
"""How often a change is tried that meets another one."""


class ScheduleNotFound(TenureError, LookupError):
    """There is no schedule of that name."""

    def __init__(self, name: ScheduleName) -> None:
        super().__init__(f"there is no schedule {name.name!r:.140} in the namespace {name.namespace}")
        self.name = name


class ScheduleTaken(TenureError):
    """There is a schedule of that name already."""

    def __init__(self, name: ScheduleName) -> None:
        super().__init__(f"there is a schedule {name.name} already; edit it, or choose another name")
        self.name = name


class ScheduleChanged(TenureError):
    """The schedule has changed since it was read; nothing was written."""

    def __init__(self, name: ScheduleName) -> None:
        super().__init__(f"the schedule {name.name} has changed since it was read; read it again")
        self.name = name


class ScheduleInCode(TenureError):
    """The schedule is declared in the app's code, and only edited there."""

    def __init__(self, name: ScheduleName) -> None:
        super().__init__(f"the schedule {name.name} is in the code of an app: change it there, or pause it")
        self.name = name


class ScheduleOfTask(TenureError):
    """The schedule is a task's repetition, which is aborted or goes on, and is not edited."""

    def __init__(self, name: ScheduleName) -> None:
        super().__init__(f"{name.name} is a task that repeats: abort it, and send another one")
        self.name = name


class ScheduleUnreadable(TenureError):
    """This version cannot read the schedule: a newer one may have written it."""

    def __init__(self, known: UnreadableSchedule) -> None:
        super().__init__(f"the schedule {known.name.name}: {known.problem}; use that version to change it")
        self.known = known


class Schedules:
    """The schedules of a store."""

    def __init__(self, store: Store, jobs: JobMaker) -> None:
        self._store = store
        self._jobs = jobs

    async def now(self) -> datetime:
        """The store's time."""
        return await self._store.now()

    async def create(self, new: NewSchedule, *, by: str = "api") -> Schedule:
        """Record a schedule. Raises InvalidInput if its job would be refused, or ScheduleTaken."""
        await self._check(new)
        added = await self._store.add_schedule(new, next_at=await self._first_tick(new), by=by)
        if added is None:
            raise ScheduleTaken(ScheduleName(new.namespace, new.id))
        return added

    async def look(self, name: ScheduleName) -> KnownSchedule:
        """The schedule, as far as this version can read it. Raises ScheduleNotFound."""
        found = await self._store.schedule(name)
        if found is None:
            raise ScheduleNotFound(name)
        return found

    async def get(self, name: ScheduleName) -> Schedule:
        """The schedule. Raises ScheduleNotFound, ScheduleUnreadable."""
        found = await self.look(name)
        if isinstance(found, UnreadableSchedule):
            raise ScheduleUnreadable(found)
        return found

    async def repetition(self, task: str, *, namespace: str | None = None) -> Schedule | None:
        """The repetition that has a task's id, in a namespace or in any. Raises ScheduleUnreadable."""
        found = await self._store.repetition(task, namespace=namespace)
        if isinstance(found, UnreadableSchedule):
            raise ScheduleUnreadable(found)
        return found

    async def repetitions(self, namespace: str, *, most: int) -> int:
        """How many tasks of a namespace go on repeating, counted to a bound."""
        return await self._store.repetitions(namespace, most=most)

    async def page(
        self,
        *,
        namespace: str | None = None,
        definition: str | None = None,
        after: ScheduleName | None = None,
        limit: int = 50,
    ) -> Sequence[KnownSchedule]:
        """Schedules by namespace and name, as far as this version can read them."""
        return await self._store.schedules(
            namespace=namespace, definition=definition, after=after, limit=limit
        )

    async def next(self, *, limit: int = 5) -> Sequence[KnownSchedule]:
        """The schedules of all namespaces that fire next."""
        return await self._store.next_schedules(limit=limit)

    async def edit(self, changed: NewSchedule, *, revision: int, recounts: bool = False) -> Schedule:
        """Replace what a schedule was asked for, if it has this revision still.

        `recounts` says that the number of runs is given anew; else as many are left as before.

        Raises InvalidInput, ScheduleNotFound, ScheduleChanged, ScheduleInCode, or ScheduleOfTask.
        """
        name = ScheduleName(changed.namespace, changed.id)
        known = await self.get(name)
        if known.asked.source is Source.CODE:
            raise ScheduleInCode(name)
        if known.asked.source is Source.TASK:
            raise ScheduleOfTask(name)
        await self._check(changed)
        return await self._replace(changed, revision, recounts=recounts)

    async def pause(self, name: ScheduleName, *, by: str = "api", reason: str | None = None) -> KnownSchedule:
        """Let it fire no more until it is resumed. Raises ScheduleNotFound.

        A task that has ended its repetition stays as it is.
        """
        if reason is not None:
            printable("reason", reason)
        paused = await self._store.pause_schedule(name, by=by, reason=reason)
        return paused or await self.look(name)

    async def abort(self, name: ScheduleName, *, by: str = "api") -> Schedule:
        """End the repetition of a task; one that has ended stays as it is. Raises ScheduleNotFound."""
        aborted = await self._store.abort_schedule(name, by=by) or await self.look(name)
        if isinstance(aborted, UnreadableSchedule):
            raise ScheduleUnreadable(aborted)
        return aborted

    async def resume(self, name: ScheduleName, *, catch_up: bool = False) -> Schedule:
        """Let it fire again. What passed is missed; with `catch_up` the schedule's policy decides about it.

        Raises ScheduleNotFound. One that is not paused stays as it is.
        """
        for _ in range(TRIES):
            paused = await self.get(name)
            if paused.paused_at is None or paused.has_ended:
                return paused
            now = await self._store.now()
            if catch_up or paused.next_at is None or paused.next_at > now:
                resumed = await self._store.resume_schedule(paused, next_at=paused.next_at)
            else:
                rule = paused.asked.recurrence
                missed = gap_until(rule, paused.next_at, now)
                resumed = await self._store.resume_schedule(
                    paused, next_at=rule.next_after(now), missed=missed
                )
            if resumed is not None:
                return resumed
        raise ScheduleChanged(name)

    async def trigger(self, name: ScheduleName, *, params: Document | None = None) -> Tick:
        """Run it now, with other params if given; its ticks stay as they are.

        Raises ScheduleNotFound, InvalidInput if the job is refused, NoRoom.
        """
        for _ in range(TRIES):
            schedule = await self.get(name)
            job = await self._jobs.make(schedule.asked, params=params)
            tick = await self._store.trigger_schedule(
                name,
                job,
                revision=schedule.revision,
                is_open=schedule.asked.overlap is not Overlap.ALLOW,
            )
            if tick is not None:
                return tick
        raise ScheduleChanged(name)

    async def delete(self, name: ScheduleName) -> None:
        """Remove it with its ticks; its jobs stay. Raises ScheduleNotFound."""
        if not await self._store.delete_schedule(name):
            raise ScheduleNotFound(name)

    async def coming(self, name: ScheduleName, count: int) -> list[ComingTick]:
        """The next ticks, also of a paused schedule. Raises ScheduleNotFound."""
        whole("count", count, 1, LARGEST_PAGE)
        schedule = await self.get(name)
        asked, now = schedule.asked, await self._store.now()
        if schedule.next_at is None:
            return []
        left = count if schedule.remaining is None else min(count, schedule.remaining)
        passed_in_pause = schedule.paused_at is not None and schedule.next_at <= now
        waited_for = [] if passed_in_pause else [schedule.next_at]
        after = asked.recurrence.ticks_after(max(now, schedule.next_at))
        ticks = [*waited_for, *islice(after, left + 1)]
        following = [*ticks[1:], None]
        return [
            ComingTick(
                tick,
                tick + jitter_of(asked.id, tick, asked.jitter, next_one),
                asked.recurrence.clock_change_at(tick),
            )
            for tick, next_one in islice(zip(ticks, following, strict=True), left)
        ]

    async def ticks(
        self, name: ScheduleName, *, before: TickPlace | None = None, limit: int = 50
    ) -> list[TickOnRecord]:
        """What became of its ticks, newest first. Raises ScheduleNotFound."""
        await self.look(name)
        return await self._store.ticks(name, before=before, limit=limit)

    async def recent_ticks(
        self, names: Collection[ScheduleName], *, limit: int = 30
    ) -> dict[ScheduleName, list[TickOnRecord]]:
        """What became of the last ticks of at most 200 schedules, newest first; of one without, nothing."""
        return await self._store.recent_ticks(names, limit=limit)

    async def announce(self, declared: NewSchedule, *, by: str) -> str | None:
        """Record a schedule that code declares, or what has changed in it; returns what is to be told of it.

        What is on record already is not written again: a restart moves no tick. That the worker `by` has it
        in its code is noted in any case.
        """
        name = ScheduleName(declared.namespace, declared.id)
        await self._store.announce_schedule(name, worker=by)
        for _ in range(TRIES):
            known = await self._store.schedule(name)
            if isinstance(known, UnreadableSchedule):
                return f"the schedule {name.name} stays as it is: {known.problem}"
            if known is None:
                if await self._store.add_schedule(declared, next_at=await self._first_tick(declared), by=by):
                    return None
                continue
            if known.asked.source is not Source.CODE:
                return f"the schedule {name.name} was made by {known.asked.source.value}, and stays as it is"
            if declared == replace(known.asked, is_paused=declared.is_paused, creator=declared.creator):
                return None
            try:
                recounts = declared.remaining != known.asked.remaining
                await self._replace(declared, known.revision, recounts=recounts)
            except ScheduleChanged:
                continue
            return _told(known.asked, declared)
        return f"the schedule {name.name} changes all the time"

    async def _replace(self, changed: NewSchedule, revision: int, *, recounts: bool) -> Schedule:
        name = ScheduleName(changed.namespace, changed.id)
        for _ in range(TRIES):  # it may fire meanwhile, and then another tick is the next one
            now = await self._store.now()
            read = await self._store.schedule(name)
            if not isinstance(read, Schedule) or read.revision != revision:
                break
            missed = None
            if read.paused_at is not None and read.next_at is not None and read.next_at <= now:
                missed = gap_until(read.asked.recurrence, read.next_at, now)
            answer = await self._store.change_schedule(
                read,
                changed,
                next_at=changed.recurrence.next_after(now),
                recounts=recounts,
                seen_at=now,
                missed=missed,
            )
            if answer is not None:
                return answer
        raise ScheduleChanged(name)

    async def _check(self, new: NewSchedule) -> None:
        """Raise InvalidInput unless it would make a valid job, some time."""
        await self._jobs.valid_job(new)
        if await self._first_tick(new) is None:
            raise InvalidInput("endsAt", "has passed: it would never fire", "give a later one, or none")

    async def _first_tick(self, new: NewSchedule) -> datetime | None:
        return new.recurrence.next_after(await self._store.now())


def _told(before: NewSchedule, after: NewSchedule) -> str | None:
    """What to say where code replaces a schedule: two apps may have given one name to two of them."""
    if before.job.definition == after.job.definition:
        return None
    return (
        f"the schedule {after.id} made jobs of {before.job.definition}, and from now on makes those of "
        f"{after.job.definition}; if an app has the other one still, give one of them another name"
    )
