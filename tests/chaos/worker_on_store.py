"""Where a worker under test works: a store on a real clock, a ledger, and the evidence of it all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from chaos import ledger
from chaos.checker import check
from chaos.evidence import Outage, Secret, Stay, Terms, gather
from chaos.ledger import Entry, Kind
from chaos.measuring import Measures
from chaos.scene import writings
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Ending
from tenure.core.signals import WorkerReady
from tenure.storage.contract.store import Store
from tests.chaos.ledger_app import HANDLERS
from tests.until import until
from tests.worker.running_worker import PATIENCE, RunningWorker, enqueue, run_worker

SHORT, LONG = timedelta(seconds=1.2), timedelta(seconds=60)
"""A lease that is over soon, for a worker that is to lose it; and one that is not lost on a slow machine."""
SOON = timedelta(milliseconds=300)
SERVED = frozenset(Line("default", key) for key in HANDLERS)
TERMS = Terms(
    lease=SHORT,
    overlap=SOON,
    poll=timedelta(seconds=PATIENCE),
    stopping=timedelta(seconds=PATIENCE),
    rescue=timedelta(seconds=PATIENCE),
    served=SERVED,
    effects=frozenset({"work"}),
    slots=1,
    quiet=False,
)
"""Only what is in question is judged by the clock: the machine may be slow."""


class Workplace:
    """A store, a ledger, and workers that came and went."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.stays: list[Stay] = []
        self.outages: list[Outage] = []
        self.secrets: list[Secret] = []
        self.is_away = False
        """Whether the store answers no worker."""
        self.unanswered = 0
        self.measures = Measures()
        self._ledger, self._end = folder / "ledger", folder / "end"

    async def enqueue(self, definition: str = "work", **policy: Any) -> UUID:
        params = {"ledger": str(self._ledger), "end": str(self._end)}
        return await enqueue(self.store, definition, params, policy={"max_attempts": 50, **policy})

    def let_go(self) -> None:
        self._end.touch()

    async def goes_away(self) -> None:
        """Let the store answer no worker until one has noticed."""
        began, self.is_away = monotonic(), True
        await until(lambda: self.unanswered)
        self.outages.append(Outage(began, monotonic()))
        self.is_away = False

    async def wrote(self, kind: Kind, count: int, *, fence: int | None = None) -> list[Entry]:
        """The lines of a kind, once there are so many."""

        def lines() -> list[Entry] | None:
            found = [one for one in ledger.read(self._ledger, torn=True) if one.kind == kind]
            found = [one for one in found if fence in {None, one.fence}]
            return found if len(found) >= count else None

        return await until(lines) or []

    async def lost(self, job: UUID) -> None:
        """Wait until an attempt of a job is on record as lost."""

        async def is_lost() -> bool:
            await self.store.reap(10)
            return any(one.ending is Ending.LOST for one in await self.store.attempts(job))

        await until(is_lost)

    @asynccontextmanager
    async def worker(
        self, *, slots: int = 1, lease: timedelta = LONG, shutdown: float = 20
    ) -> AsyncIterator[RunningWorker]:
        """A worker, and its stay as evidence."""
        began = monotonic()
        async with run_worker(
            self.store,
            slots=slots,
            lease=lease.total_seconds(),
            shutdown=shutdown,
            target="tests.chaos.ledger_app:app",
            handlers=HANDLERS,
        ) as running:
            ready: WorkerReady = await running.wait_for(WorkerReady)
            self.stays.append(Stay(worker=ready.worker.id, pid=ready.worker.pid, started_at=began))
            yield running
            told = monotonic()
        self.stays[-1] = replace(self.stays[-1], stop_at=told, ended_at=monotonic(), exit_code=0)

    async def broken(self, **terms: Any) -> set[str]:
        """The invariants that are broken by what there is."""
        evidence = await gather(
            self.store,
            replace(TERMS, **terms),
            ledger=ledger.read(self._ledger, torn=True),
            stays=self.stays,
            outages=self.outages,
            resources=self.measures.series,
            writings=writings(self._ledger.parent),
            secrets=self.secrets,
        )
        assert evidence.writings or not self.secrets
        return {violation.invariant for violation in check(evidence)}
