"""The verbs of the SQLite store about what handlers keep: steps and checkpoints."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tenure.core.model.durable import (
    Forgotten,
    Keeping,
    KeptStep,
    Recollection,
    Signal,
    StepDraft,
)
from tenure.core.model.lease import Lease
from tenure.core.values.bounds import LARGEST_PAGE, printable, whole
from tenure.core.values.documents import Document
from tenure.storage.mapping import durable as mapping
from tenure.storage.sqlite.file.connection import intact
from tenure.storage.sqlite.file.database import Database, Rows


class DurableSteps(Database):
    """Keeps steps and checkpoints while leases hold, and brings them back."""

    async def recall(self, worker: str, lease: Lease) -> Recollection | None:
        found = await self._read("recall", dict, **_claim(worker, lease), **mapping.SHORT)
        with intact(self._path):
            return mapping.recollection_from(found)

    async def recall_step(
        self, worker: str, lease: Lease, name: str, *, is_decided: bool = False
    ) -> KeptStep | None:
        del is_decided  # handlers have no transactions of their own in a file
        found = await self._read("recall_step", mapping.step_from, **_claim(worker, lease), name=name)
        return found[0] if found else None

    async def recall_signal(self, worker: str, lease: Lease, name: str) -> Signal | None:
        found = await self._read("recall_signal", mapping.signal_from, **_claim(worker, lease), name=name)
        return found[0] if found else None

    async def keep_steps(self, worker: str, steps: Sequence[tuple[Lease, StepDraft]]) -> list[Keeping]:
        printable("worker", worker, least=1)
        answers: dict[int, Keeping] = {}
        columns = [(place, *_columns(*one)) for place, one in enumerate(steps)]
        for places in mapping.rounds(steps):
            kept = await self._keep("keep_steps", [columns[place] for place in places], worker)
            answers |= {row["place"]: Keeping(row["keeping"]) for row in kept}
        return [answers[place] for place in range(len(steps))]

    async def save_checkpoints(
        self, worker: str, checkpoints: Sequence[tuple[Lease, Document]]
    ) -> list[bool]:
        printable("worker", worker, least=1)
        last = mapping.last_checkpoints(checkpoints)
        given = [
            (place, str(lease.job), lease.fence, body) for place, (lease, body) in enumerate(last.items())
        ]
        leases = list(last)
        saved = {
            leases[row["place"]]: row["keeping"]
            for row in await self._keep("save_checkpoints", given, worker)
        }
        return [saved[lease] == mapping.KEPT for lease, _ in checkpoints]

    async def _keep(self, verb: str, given: Sequence[tuple[Any, ...]], worker: str) -> Rows:
        return await self._writer.run(
            lambda connection, turn: self._scripts.run(
                connection, verb, given, **turn._asdict(), worker=worker, **mapping.BOUNDS
            ),
            rows=len(given),
        )

    async def forget_steps(
        self, worker: str, lease: Lease, prefix: str, checkpoint: Document | None = None
    ) -> Forgotten | None:
        mapping.check_prefix(prefix)
        mapping.check_checkpoint(checkpoint)
        claim = _claim(worker, lease)
        return mapping.forgotten_from(
            await self._run("forget_steps", **claim, prefix=prefix, body=checkpoint)
        )

    async def steps(self, job: UUID, *, after: str | None = None, limit: int = 200) -> list[KeptStep]:
        whole("limit", limit, 1, LARGEST_PAGE)
        return await self._read("steps", mapping.step_from, job=str(job), after=after, limit=limit)

    async def count_steps(self, job: UUID) -> int:
        found = await self._read("count_steps", dict, job=str(job))
        return found[0]["steps"] if found else 0


def _claim(worker: str, lease: Lease) -> dict[str, Any]:
    printable("worker", worker, least=1)
    return {"worker": worker, "job": str(lease.job), "fence": lease.fence}


def _columns(lease: Lease, step: StepDraft) -> tuple[Any, ...]:
    size = None if step.body is None else len(step.body.encode())
    kept = (step.name, step.kind.value, step.status.value, step.call, step.body, size)
    return (str(lease.job), lease.fence, *kept)
