"""The progress of jobs that workers hold by requests: what they recall, keep and save.

Whatever is written counts only while the lease holds; None says that it does not.
"""

from tenure.core.errors import InvalidInput, JobNotFound
from tenure.core.model.durable import LARGEST_STEP, Keeping, KeptStep, Recollection, Signal, StepDraft
from tenure.core.values.documents import Document
from tenure.engine.client.remote_leases import RemoteLease
from tenure.storage.contract.store import Store


class LeaseProgress:
    """Recalls, keeps and saves for workers elsewhere. Every method raises JobNotFound for an unknown job."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def recall(self, held: RemoteLease) -> Recollection | None:
        """All that the job has kept; results that are long are left out."""
        found = await self._store.recall(held.worker, held.lease)
        if found is None:
            await self._require_job(held)
        return found

    async def recall_step(self, held: RemoteLease, name: str) -> KeptStep | None:
        """One step with its whole result; None also if there is none."""
        found = await self._store.recall_step(held.worker, held.lease, name)
        if found is None:
            await self._require_job(held)
        return found

    async def recall_signal(self, held: RemoteLease, name: str) -> Signal | None:
        """One signal with its whole payload; None also if there is none."""
        found = await self._store.recall_signal(held.worker, held.lease, name)
        if found is None:
            await self._require_job(held)
        return found

    async def keep(self, held: RemoteLease, step: StepDraft) -> Keeping:
        """Keep a step."""
        [kept] = await self._store.keep_steps(held.worker, [(held.lease, step)])
        if kept is Keeping.LOST:
            await self._require_job(held)
        return kept

    async def save(self, held: RemoteLease, state: Document) -> bool:
        """Replace the job's state; whether the lease held. Raises InvalidInput if it is too large."""
        if len(state.encode()) > LARGEST_STEP:
            raise InvalidInput("state", f"has over {LARGEST_STEP:,} bytes", "keep less of it")
        [saved] = await self._store.save_checkpoints(held.worker, [(held.lease, state)])
        if not saved:
            await self._require_job(held)
        return saved

    async def _require_job(self, held: RemoteLease) -> None:
        if await self._store.get(held.lease.job) is None:
            raise JobNotFound(held.lease.job)
