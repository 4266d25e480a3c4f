"""The verbs of the PostgreSQL store about what handlers keep: steps and checkpoints."""

from collections.abc import Mapping, Sequence
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
from tenure.storage.postgres import rows
from tenure.storage.postgres.database import Database


class DurableSteps(Database):
    """Keeps steps and checkpoints while leases hold, and brings them back."""

    async def recall(self, worker: str, lease: Lease) -> Recollection | None:
        found = await self._pool.run("recall", **_claim(worker, lease), **mapping.SHORT)
        return mapping.recollection_from(found)

    async def recall_step(
        self, worker: str, lease: Lease, name: str, *, is_decided: bool = False
    ) -> KeptStep | None:
        wanted = {**_claim(worker, lease), "name": name}
        if is_decided:
            *_, found = await self._pool.run_all(
                ("keep_steps.lock", {"job": lease.job}), ("recall_step", wanted)
            )
        else:
            found = await self._pool.run("recall_step", **wanted)
        return mapping.step_from(found[0]) if found else None

    async def recall_signal(self, worker: str, lease: Lease, name: str) -> Signal | None:
        found = await self._pool.run("recall_signal", **_claim(worker, lease), name=name)
        return mapping.signal_from(found[0]) if found else None

    async def keep_steps(self, worker: str, steps: Sequence[tuple[Lease, StepDraft]]) -> list[Keeping]:
        printable("worker", worker, least=1)
        answers: dict[int, str] = {}
        for places in mapping.rounds(steps):
            given = {place: steps[place] for place in places}
            answers |= await self._keep("keep_steps.keep", worker, given, {**mapping.BOUNDS})
        return [Keeping(answers[place]) for place in range(len(steps))]

    async def save_checkpoints(
        self, worker: str, checkpoints: Sequence[tuple[Lease, Document]]
    ) -> list[bool]:
        printable("worker", worker, least=1)
        last = mapping.last_checkpoints(checkpoints)
        saved = await self._keep("save_checkpoints", worker, dict(enumerate(last.items())), {})
        answers = {lease: saved[place] == mapping.KEPT for place, lease in enumerate(last)}
        return [answers[lease] for lease, _ in checkpoints]

    async def _keep(
        self,
        statement: str,
        worker: str,
        given: Mapping[int, tuple[Lease, StepDraft | Document]],
        bounds: Mapping[str, Any],
    ) -> dict[int, str]:
        """Keep what is given by its place in the call; jobs that are locked come again, each alone.

        Another transaction, such as one of the job's own handler, may hold its row for long.
        """
        if not given:
            return {}
        columns = {**rows.kept(given.values()), "worker": worker, **bounds}
        places = list(given)
        answers = {
            places[row["place"] - 1]: row["keeping"] for row in await self._pool.run(statement, **columns)
        }
        locked = {place: given[place] for place in places if answers[place] == mapping.LOCKED}
        for job in {lease.job for lease, _ in locked.values()}:
            alone = {place: one for place, one in locked.items() if one[0].job == job}
            columns = {**rows.kept(alone.values()), "worker": worker, **bounds}
            *_, again = await self._pool.run_all(("keep_steps.lock", {"job": job}), (statement, columns))
            answers |= dict.fromkeys(alone, Keeping.LOST.value)
            answers |= {list(alone)[row["place"] - 1]: row["keeping"] for row in again}
        return answers

    async def forget_steps(
        self, worker: str, lease: Lease, prefix: str, checkpoint: Document | None = None
    ) -> Forgotten | None:
        mapping.check_prefix(prefix)
        mapping.check_checkpoint(checkpoint)
        *_, answer = await self._pool.run_all(
            ("keep_steps.lock", {"job": lease.job}),
            ("forget_steps", {**_claim(worker, lease), "prefix": prefix, "body": checkpoint}),
        )
        return mapping.forgotten_from(answer)

    async def steps(self, job: UUID, *, after: str | None = None, limit: int = 200) -> list[KeptStep]:
        whole("limit", limit, 1, LARGEST_PAGE)
        found = await self._pool.run("steps", job=job, after=after, limit=limit)
        return [mapping.step_from(row) for row in found]

    async def count_steps(self, job: UUID) -> int:
        found = await self._pool.run("count_steps", job=job)
        return found[0]["steps"] if found else 0


def _claim(worker: str, lease: Lease) -> dict[str, Any]:
    printable("worker", worker, least=1)
    return {"worker": worker, "job": lease.job, "fence": lease.fence}
