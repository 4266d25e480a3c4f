"""Answers what handlers ask about the progress of their jobs, from the store."""

import asyncio
from typing import TypeVar, assert_never

from tenure.core.errors import LeaseLost
from tenure.core.model.durable import Keeping, StepDraft
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document
from tenure.engine.durable.recollections import recalled, recalled_step
from tenure.engine.durable.shared_writes import SharedWrites, patiently
from tenure.execution.protocol.durable import (
    Answer,
    Forget,
    Keep,
    KeepRefused,
    Kept,
    Question,
    Recall,
    RecalledOne,
    RecalledSignal,
    RecallOne,
    RecallSignal,
    Save,
)
from tenure.storage.contract.durable import DurableStore

T = TypeVar("T")

_BESIDE_A_BODY = 300
"""About how many bytes a step has beside its result."""


class ProgressKeeper:
    """Keeps the progress of all attempts of one worker."""

    def __init__(self, store: DurableStore, worker: str, tasks: asyncio.TaskGroup) -> None:
        self._store = store
        self._worker = worker
        self._steps: SharedWrites[StepDraft, Keeping] = SharedWrites(
            lambda steps: store.keep_steps(worker, steps), tasks
        )
        self._checkpoints: SharedWrites[Document, bool] = SharedWrites(
            lambda checkpoints: store.save_checkpoints(worker, checkpoints), tasks
        )

    async def answer(self, lease: Lease, question: Question) -> Answer:
        """Answer a question of the attempt under this lease; raises LeaseLost if the lease is gone."""
        match question:
            case Recall():
                return recalled(_held(await patiently(lambda: self._store.recall(self._worker, lease))))
            case RecallOne(name, is_decided):
                recall = self._store.recall_step
                step = await patiently(lambda: recall(self._worker, lease, name, is_decided=is_decided))
                return RecalledOne(None if step is None else recalled_step(step))
            case RecallSignal(name):
                signal = await patiently(lambda: self._store.recall_signal(self._worker, lease, name))
                return RecalledSignal(None if signal is None else signal.body)
            case Keep(step):
                return _kept(await self._steps.put(lease, step, _BESIDE_A_BODY + len(step.body or "")))
            case Save(body):
                if not await self._checkpoints.put(lease, Document(body), len(body)):
                    raise lease_lost()
                return Kept()
            case Forget(prefix, body):
                checkpoint = None if body is None else Document(body)
                forget = self._store.forget_steps
                _held(await patiently(lambda: forget(self._worker, lease, prefix, checkpoint)))
                return Kept()
            case _:
                assert_never(question)


def lease_lost() -> LeaseLost:
    """The error for an attempt that keeps something after it has lost its lease."""
    return LeaseLost("the lease of this attempt is gone: nothing was kept")


def _held(found: T | None) -> T:
    if found is None:
        raise lease_lost()
    return found


def _kept(keeping: Keeping) -> Answer:
    match keeping:
        case Keeping.KEPT:
            return Kept()
        case Keeping.LOST:
            raise lease_lost()
        case _:
            return KeepRefused(keeping.value)
