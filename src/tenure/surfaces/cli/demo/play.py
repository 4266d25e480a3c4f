"""Runs the demo's jobs on a real store, with a real worker in this process, and follows them to the end."""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.errors import StoreError
from tenure.core.model.lease import Progress
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.signals import Signal, Troubled
from tenure.core.values import documents
from tenure.engine.client.bulk import BulkChanges
from tenure.engine.client.quota import Quota
from tenure.engine.client.registry import Registry
from tenure.engine.worker.worker import Worker
from tenure.settings.settings import Settings
from tenure.settings.sources import load
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.calls import history
from tenure.surfaces.cli.calls.history import Astray
from tenure.surfaces.cli.demo.board import Board, BoardRow

APP = "tenure.surfaces.cli.demo.samples:app"
TICK = 0.1
DEADLINE_SECONDS = 20.0
"""How long the jobs may take; they take about six."""
STOP_SECONDS = 5.0
"""How long the worker may take to stop."""


class DemoJob(NamedTuple):
    """One job of the demo: what it demonstrates, and the states that it must go through."""

    key: str
    about: str
    path: str
    params: Mapping[str, Any] = {}
    cancelled_at: float | None = None
    """The progress at which it is cancelled."""


DEMO_JOBS = (
    DemoJob("demo.greet", "succeeds", "queued running succeeded", {"name": "Ada"}),
    DemoJob(
        "demo.fetch",
        "fails once, is tried again and succeeds",
        "queued running retrying queued running succeeded",
    ),
    DemoJob(
        "demo.resize",
        "crashes, which harms no other job, and is tried again",
        "queued running retrying queued running succeeded",
    ),
    DemoJob(
        "demo.encode", "takes a while and reports its progress", "queued running succeeded", {"frames": 20}
    ),
    DemoJob(
        "demo.backup",
        "is cancelled, ignores SIGTERM, and is killed after its grace",
        "queued running cancelling cancelled",
        cancelled_at=0.04,
    ),
    DemoJob(
        "demo.charge",
        "fails until its attempts are used up: a dead letter",
        "queued running retrying queued running retrying queued running failed",
    ),
)


class DemoRun:
    """One run of the demo, in a queue of its own, so that no other worker and no other demo takes part."""

    def __init__(self, store: Store, database: str, board: Board) -> None:
        self._store = store
        self._database = database
        self._board = board
        self._jobs: dict[UUID, DemoJob] = {}
        self._trouble = ""
        self.queue = f"demo-{secrets.token_hex(4)}"
        self.rows: dict[UUID, BoardRow] = {}

    async def run(self, folder: Path, on_played: Callable[[], Awaitable[None]] | None = None) -> None:
        """Run the jobs; raises Astray unless each has taken its path. `folder` is for the children.

        `on_played` is called while the worker still runs.
        """
        await self._store.migrate()
        await self._store.verify()
        # Not at the top: most commands need no lanes.
        from tenure.assemble.embedded_worker import embedded_worker

        settings = Settings(
            slots=len(DEMO_JOBS), queues=(self.queue,), shutdown_seconds=0, child_env=_child_env()
        )
        async with embedded_worker(
            APP,
            self._store,
            settings,
            folder=folder,
            databases=[self._database],
            announce=self._note,
            on_progress=self._on_progress,
        ) as (worker, registry):
            await self._enqueue(registry)
            await self._work(worker, on_played)

    async def _enqueue(self, registry: Registry) -> None:
        specs = [registry.get(one.key, 1) for one in DEMO_JOBS]
        jobs = [
            spec.new_job(documents.write(one.params), queue=self.queue)
            for one, spec in zip(DEMO_JOBS, specs, strict=True)
        ]
        for one, spec, made in zip(DEMO_JOBS, specs, await self._store.enqueue(jobs), strict=True):
            name = one.key.removeprefix("demo.")
            self.rows[made.id] = BoardRow(made.id, name, one.about, spec.policy.max_attempts)
            self._jobs[made.id] = one

    async def _work(self, worker: Worker, on_played: Callable[[], Awaitable[None]] | None) -> None:
        working = asyncio.create_task(worker.run())
        try:
            await self._follow(working)
            for job, row in self.rows.items():
                _check(self._jobs[job], row)
            if on_played is not None:
                await _beside(working, on_played())
        finally:
            # Also after Ctrl-C: jobs that still run are killed and handed back, then cancelled.
            worker.stop("the demo is over")
            await asyncio.wait({working}, timeout=STOP_SECONDS)
            working.cancel()
            await asyncio.wait({working})
            await self._withdraw()

    async def _follow(self, working: asyncio.Task[None]) -> None:
        """Show the jobs until all have ended."""
        deadline = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        while unfinished := await self._look():
            names = ", ".join(row.name for row in unfinished)
            if working.done():
                working.result()
                raise Astray(f"the worker was drained before {names} had ended")
            if asyncio.get_running_loop().time() > deadline:
                raise Astray(f"{names} had not ended after {DEADLINE_SECONDS:g} s{self._trouble}")
            await asyncio.wait({working}, timeout=TICK)

    async def _look(self) -> list[BoardRow]:
        """Read and show what has happened; return the jobs that have not ended."""
        for job, row in self.rows.items():
            if row.state.is_final:
                continue
            events = await self._store.events(job)
            if len(events) > len(row.events):
                row.events, row.attempts = events, await self._store.attempts(job)
                row.job = await self._store.get(job)
            await self._cancel_when_due(row, self._jobs[job])
        self._board.show(list(self.rows.values()))
        return [row for row in self.rows.values() if not row.state.is_final]

    async def _cancel_when_due(self, row: BoardRow, job: DemoJob) -> None:
        due = job.cancelled_at is not None and row.progress and row.progress.fraction >= job.cancelled_at
        if due and row.state is State.RUNNING:
            await self._store.cancel([row.id], actor="demo", reason="taking too long")

    async def _withdraw(self) -> None:
        """Cancel what is left in the queue, replays too: no other worker serves it."""
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await BulkChanges(self._store, Quota(self._store, 0)).cancel(
                    Filter(queue=self.queue), actor="demo", reason="the demo was ended"
                )

    def _on_progress(self, job: UUID, progress: Progress) -> None:
        self.rows[job].progress = progress

    def _note(self, signal: Signal) -> None:
        if isinstance(signal, Troubled):
            self._trouble = f"; {signal.loop}: {signal.error.strip().splitlines()[-1]}"


async def _beside(working: asyncio.Task[None], what: Awaitable[None]) -> None:
    """Await `what` while the worker runs, or after it was drained; raises the worker's failure."""
    doing = asyncio.ensure_future(what)
    try:
        await asyncio.wait({doing, working}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        await doing
    finally:
        doing.cancel()


def _check(job: DemoJob, row: BoardRow) -> None:
    history.check(row.events)
    path = " ".join(event.target for event in row.events if not history.is_note(event))
    if path != job.path:
        raise Astray(f"{row.name} took another path than it should: {path}, not {job.path}")


def _child_env() -> tuple[str, ...]:
    """What handlers are given of the environment, the one setting that the demo has: the file is not read."""
    said = {name: value for name, value in os.environ.items() if name == "TENURE_CHILD_ENV"}
    return load(environment=said, file=Path(os.devnull)).settings.child_env
