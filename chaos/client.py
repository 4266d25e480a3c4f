"""The client of a run: does what the plan says, and keeps a history that no fault can take from it.

A call that fails is made again with the same key until it is acknowledged, as a careful caller would. What it
was told each time is on disk before it goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from chaos.app import SIGNAL
from chaos.history import History, Verb
from chaos.load import Ask, Wanted
from tenure.core.errors import JobNotFound, StoreBusy, StoreError, StoreRefused, StoreUnavailable
from tenure.core.model.durable import Delivered, Signal, Signalled
from tenure.core.model.job import Enqueued, JobStanding, NewJob
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.values.documents import Document, canonical_hash
from tenure.storage.contract.store import Store

T = TypeVar("T")
KEPT = frozenset({Delivered.KEPT, Delivered.RESUMED, Delivered.REPEATED})
REST = 0.1
"""Seconds before a call that failed is made again."""


class Client:
    """Speaks to a store for one run."""

    def __init__(self, store: Store, history: Path, make: Callable[[Wanted], NewJob]) -> None:
        """`make` turns what the plan wants into a job."""
        self._store = store
        self._history = History(history)
        self._make = make
        self._jobs: dict[str, UUID] = {}
        self.unknown = 0
        """How many calls ended without an answer that could be relied on."""
        self.resolved = 0
        """How many of these were cleared up by the same key."""

    @property
    def jobs(self) -> list[UUID]:
        """The jobs that it was told of."""
        return list(self._jobs.values())

    async def follow(self, plan: Sequence[Ask]) -> None:
        """Make every call at its time; none waits for another."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as calls:
            for ask in plan:
                await asyncio.sleep(max(0.0, began + ask.at - loop.time()))
                calls.create_task(self._make_call(ask))

    async def attempt(self, wanted: Sequence[Wanted], *, batch: bool = False) -> None:
        """Ask for jobs once, whatever is said to it."""
        await self._record(wanted, batch=batch, tries=1)

    async def enqueue(self, wanted: Sequence[Wanted], *, batch: bool = False) -> list[UUID]:
        """Have jobs recorded."""
        answers = await self._record(wanted, batch=batch) or []
        ids = [answer.id for answer in answers]
        self._jobs.update(zip((one.key for one in wanted), ids, strict=True))
        return ids

    async def signal(self, job: UUID) -> None:
        """Tell a job what journeys wait for; the same again changes nothing."""
        said = Signal(name=SIGNAL, by="the client", body=Document('{"at":"the station"}'))

        def kept(told: Signalled | None) -> tuple[list[UUID], list[UUID]]:
            return [], [job] if told is not None and told.delivered in KEPT else []

        await self._insist("signal", lambda: self._store.signal(job, said), kept, asked=[job])

    async def _record(
        self, wanted: Sequence[Wanted], *, batch: bool = False, tries: int | None = None
    ) -> list[Enqueued] | None:
        jobs = [self._make(one) for one in wanted]
        answers: list[Enqueued] | None = await self._insist(
            "enqueue",
            lambda: self._store.enqueue(jobs),
            lambda found: ([one.id for one in found], [one.id for one in found if one.fresh]),
            keys=[one.key for one in wanted],
            bodies=[canonical_hash(job.params).hex() for job in jobs],
            batch=batch,
            tries=tries,
        )
        return answers

    async def cancel(self, job: UUID) -> None:
        """Have a job stopped."""
        await self._insist("cancel", lambda: self._store.cancel([job]), _standings, asked=[job])

    async def accept(self, job: UUID) -> None:
        """Let a held job go."""
        await self._insist("accept", lambda: self._store.accept([job]), _standings, asked=[job])

    async def replay(self, job: UUID) -> None:
        """Run a finished job again; made once: to repeat it after an unknown end might run it twice."""
        await self._insist("replay", lambda: self._store.replay([job]), _replays, asked=[job], tries=1)

    def close(self) -> None:
        """Write no more history."""
        self._history.close()

    async def _make_call(self, ask: Ask) -> None:
        match ask.verb:
            case "enqueue" | "batch":
                await self._tell(ask.wanted, await self.enqueue(ask.wanted, batch=ask.verb == "batch"))
            case "cancel":
                for one in ask.wanted:
                    if (job := self._jobs.get(one.key)) is not None:
                        await self.cancel(job)
            case "hold":
                held = await self.enqueue(ask.wanted)
                for job in held:
                    await self.accept(job)
                await self._tell(ask.wanted, held)
            case "stop":
                for job in await self.enqueue(ask.wanted):
                    await self._until(job, State.RUNNING)
                    await self.cancel(job)
            case "replay":
                for one in ask.wanted:
                    if (job := self._jobs.get(one.key)) is not None and await self._has_ended(job):
                        await self.replay(job)

    async def _tell(self, wanted: Sequence[Wanted], jobs: Sequence[UUID]) -> None:
        """Send signals to those of these jobs that are to have one, each in its time."""
        began = asyncio.get_running_loop().time()
        due = [
            (one.told_after, job) for one, job in zip(wanted, jobs, strict=True) if one.told_after is not None
        ]
        for at, job in sorted(due):
            await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
            await self.signal(job)

    async def _has_ended(self, job: UUID) -> bool:
        with suppress(StoreError):
            found = await self._store.get(job)
            return found is not None and found.state.is_final
        return False

    async def _until(self, job: UUID, state: State) -> None:
        """Wait for a state, or for the job's end."""
        while True:
            with suppress(StoreError):
                found = await self._store.get(job)
                if found is None:
                    raise JobNotFound(job)
                if found.state is state or found.state.is_final:
                    return
            await asyncio.sleep(0.02)

    async def _insist(
        self,
        verb: Verb,
        call: Callable[[], Awaitable[Any]],
        read: Callable[[Any], tuple[list[UUID], list[UUID]]],
        *,
        keys: Sequence[str] = (),
        bodies: Sequence[str] = (),
        asked: Sequence[UUID] = (),
        batch: bool = False,
        tries: int | None = None,
    ) -> Any:
        """Make a call until it is acknowledged, each time as one call of the history."""
        was_unknown = False
        while True:
            number = self._history.sent(verb, keys=keys, bodies=bodies, asked=asked, batch=batch)
            try:
                answer = await call()
            except StoreError as error:
                is_unknown = not _is_certain(error)
                self._history.answered(number, "unknown" if is_unknown else "refused", error=str(error))
                self.unknown += is_unknown
                was_unknown |= is_unknown
            else:
                jobs, moved = read(answer)
                self._history.answered(number, "acknowledged", jobs=jobs, moved=moved)
                self.resolved += was_unknown
                return answer
            if tries is not None and (tries := tries - 1) <= 0:
                return None
            await asyncio.sleep(REST)


def _is_certain(error: StoreError) -> bool:
    """Whether the error says that nothing was written."""
    return isinstance(error, StoreBusy | StoreRefused) or (
        isinstance(error, StoreUnavailable) and not error.unknown
    )


def _standings(found: Sequence[JobStanding]) -> tuple[list[UUID], list[UUID]]:
    return [one.job for one in found], [one.job for one in found if one.moved]


def _replays(found: Sequence[Replayed]) -> tuple[list[UUID], list[UUID]]:
    made = [one.replay for one in found if one.replay is not None]
    return made, [one.replay for one in found if one.replay is not None and one.fresh]
