"""The demo's jobs on a real store, run by a real worker in this process, and followed to their ends."""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core import documents
from tenure.core.errors import StoreError
from tenure.core.lease import Progress
from tenure.core.reading import Filter
from tenure.core.signals import Signal, Troubled
from tenure.core.states import State
from tenure.engine.hiring import hire, new_name
from tenure.engine.quota import Quota
from tenure.engine.registry import Manifest, Registry
from tenure.engine.sweeping import Sweeps
from tenure.engine.worker import Worker
from tenure.execution.lanes import Lanes
from tenure.settings import Settings
from tenure.storage.contract import Store
from tenure.surfaces.cli import history
from tenure.surfaces.cli.board import Board, Row
from tenure.surfaces.cli.history import Astray
from tenure.surfaces.cli.overhearing import Overheard

APP = "tenure.surfaces.cli.samples:app"
TICK = 0.1
PATIENCE = 20.0
"""Seconds that the jobs may take; they take about six."""
LAST_WORDS = 5.0
"""Seconds that the worker may take to stop."""


class Part(NamedTuple):
    """One job of the demo: what it is there to show, and the states that it must go through."""

    key: str
    about: str
    path: str
    params: Mapping[str, Any] = {}
    cancelled_at: float | None = None
    """How far it is to come before it is cancelled."""


PARTS = (
    Part("demo.greet", "succeeds", "queued running succeeded", {"name": "Ada"}),
    Part(
        "demo.fetch",
        "fails once, is tried again and succeeds",
        "queued running retrying queued running succeeded",
    ),
    Part(
        "demo.resize",
        "dies by a signal, which hurts nobody else, and is tried again",
        "queued running retrying queued running succeeded",
    ),
    Part("demo.encode", "takes a while and tells how far it is", "queued running succeeded", {"frames": 20}),
    Part(
        "demo.backup",
        "is cancelled, ignores SIGTERM, and is killed after its grace",
        "queued running cancelling cancelled",
        cancelled_at=0.04,
    ),
    Part(
        "demo.charge",
        "fails until its attempts are used up: a dead letter",
        "queued running retrying queued running retrying queued running failed",
    ),
)


class Play:
    """One run of the demo, in a queue of its own, so that no other worker and no other demo takes part."""

    def __init__(self, store: Store, board: Board) -> None:
        self._store = store
        self._board = board
        self._parts: dict[UUID, Part] = {}
        self._trouble = ""
        self.queue = f"demo-{secrets.token_hex(4)}"
        self.rows: dict[UUID, Row] = {}

    async def run(self, folder: Path, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Play it; raises Astray unless every job has gone its way. `folder` is the children's.

        What comes `then` is done while there is still a worker.
        """
        await self._store.migrate()
        await self._store.verify()
        lanes = Lanes(APP, folder=folder, environment=_environment())
        try:
            registry = Manifest.read(await lanes.start()).registry()
            hired = hire(
                self._store,
                Overheard(lanes, self._hear),
                registry,
                self._note,
                worker=new_name(),
                settings=Settings(slots=len(PARTS), queues=(self.queue,), shutdown_seconds=0),
            )
            await self._enqueue(registry)
            await self._work(hired, then)
        finally:
            await lanes.close()

    async def _enqueue(self, registry: Registry) -> None:
        specs = [registry.get(part.key, 1) for part in PARTS]
        jobs = [
            spec.new_job(documents.write(part.params), queue=self.queue)
            for part, spec in zip(PARTS, specs, strict=True)
        ]
        for part, spec, made in zip(PARTS, specs, await self._store.enqueue(jobs), strict=True):
            name = part.key.removeprefix("demo.")
            self.rows[made.id] = Row(made.id, name, part.about, spec.policy.max_attempts)
            self._parts[made.id] = part

    async def _work(self, hired: Worker, then: Callable[[], Awaitable[None]] | None) -> None:
        working = asyncio.create_task(hired.run())
        try:
            await self._follow(working)
            for job, row in self.rows.items():
                _check(self._parts[job], row)
            if then is not None:
                await _beside(working, then())
        finally:
            # Reached by Ctrl-C as well: what still runs is killed and handed back, and then withdrawn.
            hired.stop("the demo is over")
            await asyncio.wait({working}, timeout=LAST_WORDS)
            working.cancel()
            await asyncio.wait({working})
            await self._withdraw()

    async def _follow(self, working: asyncio.Task[None]) -> None:
        """Look, and show, until every job has ended."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while unfinished := await self._look():
            names = ", ".join(row.name for row in unfinished)
            if working.done():
                working.result()
                raise Astray(f"the worker was told to stop before {names} had ended")
            if asyncio.get_running_loop().time() > deadline:
                raise Astray(f"{names} had not ended after {PATIENCE:g} s{self._trouble}")
            await asyncio.wait({working}, timeout=TICK)

    async def _look(self) -> list[Row]:
        """Take in what has happened; answers with the jobs that have not ended."""
        for job, row in self.rows.items():
            if row.state.is_final:
                continue
            events = await self._store.events(job)
            if len(events) > len(row.events):
                row.events, row.attempts = events, await self._store.attempts(job)
                row.job = await self._store.get(job)
            await self._cancel_when_due(row, self._parts[job])
        self._board.show(list(self.rows.values()))
        return [row for row in self.rows.values() if not row.state.is_final]

    async def _cancel_when_due(self, row: Row, part: Part) -> None:
        due = part.cancelled_at is not None and row.progress and row.progress.fraction >= part.cancelled_at
        if due and row.state is State.RUNNING:
            await self._store.cancel([row.id], actor="demo", reason="taking too long")

    async def _withdraw(self) -> None:
        """Nobody else serves the queue: what is left in it, replays too, would wait for ever."""
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await Sweeps(self._store, Quota(self._store, 0)).cancel(
                    Filter(queue=self.queue), actor="demo", reason="the demo was ended"
                )

    def _hear(self, job: UUID, progress: Progress) -> None:
        self.rows[job].progress = progress

    def _note(self, signal: Signal) -> None:
        if isinstance(signal, Troubled):
            self._trouble = f"; {signal.loop}: {signal.error.strip().splitlines()[-1]}"


async def _beside(working: asyncio.Task[None], what: Awaitable[None]) -> None:
    """Do something while the worker works, or after it was drained; raises what the worker fails with."""
    doing = asyncio.ensure_future(what)
    try:
        await asyncio.wait({doing, working}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        await doing
    finally:
        doing.cancel()


def _check(part: Part, row: Row) -> None:
    history.check(row.events)
    path = " ".join(event.target for event in row.events if not history.is_note(event))
    if path != part.path:
        raise Astray(f"{row.name} went another way than it should: {path}, not {part.path}")


def _environment() -> dict[str, str]:
    """The children's, without settings of ours: a demo goes by none."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
