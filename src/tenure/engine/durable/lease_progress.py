"""The progress of jobs that workers hold by requests: what they recall, keep and save.

Whatever is written counts only while the lease holds; None says that it does not.
"""

from tenure.core.errors import InvalidInput, JobNotFound
from tenure.core.model.durable import LARGEST_STEP, Keeping, KeptStep, Recollection, Signal, StepDraft
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store


class LeaseProgress:
    """Recalls, keeps and saves for workers elsewhere. Every method raises JobNotFound for an unknown job."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def recall(self, worker: str, lease: Lease) -> Recollection | None:
        """All that the job has kept; results that are long are left out."""
        found = await self._store.recall(worker, lease)
        if found is None:
            await self._require_job(lease)
        return found

    async def recall_step(self, worker: str, lease: Lease, name: str) -> KeptStep | None:
        """One step with its whole result; None also if there is none."""
        found = await self._store.recall_step(worker, lease, name)
        if found is None:
            await self._require_job(lease)
        return found

    async def recall_signal(self, worker: str, lease: Lease, name: str) -> Signal | None:
        """One signal with its whole payload; None also if there is none."""
        found = await self._store.recall_signal(worker, lease, name)
        if found is None:
            await self._require_job(lease)
        return found

    async def keep(self, worker: str, lease: Lease, step: StepDraft) -> Keeping:
        """Keep a step."""
        [kept] = await self._store.keep_steps(worker, [(lease, step)])
        if kept is Keeping.LOST:
            await self._require_job(lease)
        return kept

    async def save(self, worker: str, lease: Lease, state: Document) -> bool:
        """Replace the job's state; whether the lease held. Raises InvalidInput if it is too large."""
        if len(state.encode()) > LARGEST_STEP:
            raise InvalidInput("state", f"has over {LARGEST_STEP:,} bytes", "keep less of it")
        [saved] = await self._store.save_checkpoints(worker, [(lease, state)])
        if not saved:
            await self._require_job(lease)
        return saved

    async def _require_job(self, lease: Lease) -> None:
        if await self._store.get(lease.job) is None:
            raise JobNotFound(lease.job)
