"""Where a worker under test works: a store on a real clock, a ledger, and the evidence of it all."""

import asyncio
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
from tenure.core.lease import Line
from tenure.core.outcome import Ending
from tenure.core.signals import WorkerReady
from tenure.storage.contract import Store
from tests.chaos.sample import HANDLERS
from tests.worker.employing import PATIENCE, Employed, employ, enqueue

SHORT, LONG = timedelta(seconds=1.2), timedelta(seconds=60)
"""A lease that is over soon, for who is to lose it; and one that nobody loses, however slow the machine."""
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
    """A store, a ledger, and workers who came and went."""

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
        async with asyncio.timeout(PATIENCE):
            while not self.unanswered:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        self.outages.append(Outage(began, monotonic()))
        self.is_away = False

    async def wrote(self, kind: Kind, count: int, *, fence: int | None = None) -> list[Entry]:
        """The lines of a kind, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [one for one in ledger.read(self._ledger, torn=True) if one.kind == kind]
                found = [one for one in found if fence in {None, one.fence}]
                if len(found) >= count:
                    return found
                await asyncio.sleep(0.01)

    async def lost(self, job: UUID) -> None:
        """Wait until an attempt of a job is on record as lost."""
        async with asyncio.timeout(PATIENCE):
            while all(one.ending is not Ending.LOST for one in await self.store.attempts(job)):
                await self.store.reap(10)
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def worker(
        self, *, slots: int = 1, lease: timedelta = LONG, shutdown: float = 20
    ) -> AsyncIterator[Employed]:
        """A worker, and its stay as evidence."""
        began = monotonic()
        async with employ(
            self.store,
            slots=slots,
            lease=lease.total_seconds(),
            shutdown=shutdown,
            target="tests.chaos.sample:app",
            handlers=HANDLERS,
        ) as employed:
            ready: WorkerReady = await employed.hears(WorkerReady)
            self.stays.append(Stay(worker=ready.worker.id, pid=ready.worker.pid, started_at=began))
            yield employed
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
