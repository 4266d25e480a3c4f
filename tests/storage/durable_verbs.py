"""Short functions of the contract suite for durable steps: `keep`, `suspend`, `told`, `held` …"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tenure.core.model.durable import (
    Answered,
    EffectAnswer,
    Keeping,
    KeptStep,
    Recollection,
    Signal,
    Signalled,
    StepDraft,
    StepKind,
    StepStatus,
    Suspension,
    Wait,
    WaitKind,
)
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.verbs import claim, enqueue_one, seconds

APPROVED = "approved"


async def held(store: Store, worker: str = "a", **fields: Any) -> Lease:
    """A new job that a worker holds."""
    job = await enqueue_one(store, **fields)
    [claimed] = await claim(store, worker)
    assert claimed.lease.job == job
    return claimed.lease


async def held_again(store: Store, worker: str = "a") -> Lease:
    """The lease of the next claim, of the one job in line."""
    [claimed] = await claim(store, worker)
    return claimed.lease


def done(name: str = "fetch", body: str | None = "1", **fields: Any) -> StepDraft:
    """A step that is finished."""
    terms = {"kind": StepKind.STEP, "status": StepStatus.DONE} | fields
    return StepDraft(name=name, body=None if body is None else Document(body), **terms)


def intended(name: str = "charge", **fields: Any) -> StepDraft:
    """An effect that is about to happen."""
    return StepDraft(name=name, **{"kind": StepKind.ONCE, "status": StepStatus.INTENDED} | fields)


def happened(name: str = "charge", body: str = "1", **fields: Any) -> StepDraft:
    """An effect that has happened."""
    return done(name, body, **{"kind": StepKind.ONCE} | fields)


def skipped(name: str = "charge") -> StepDraft:
    """An effect that nobody will try again."""
    return intended(name, status=StepStatus.SKIPPED)


async def keep(store: Store, lease: Lease, *steps: StepDraft, worker: str = "a") -> list[Keeping]:
    """Keep steps under one lease, in one call."""
    return await store.keep_steps(worker, [(lease, step) for step in steps])


async def kept(store: Store, job: UUID) -> list[KeptStep]:
    """All steps of a job with at most a page of them."""
    return await store.steps(job)


async def statuses(store: Store, job: UUID) -> dict[str, str]:
    """How far each step of a job has come, in their order."""
    return {step.name: step.status.value for step in await store.steps(job)}


async def recalled(store: Store, lease: Lease, worker: str = "a") -> Recollection:
    """What a job that is held has kept."""
    found = await store.recall(worker, lease)
    assert found is not None
    return found


def sleep(length: timedelta = timedelta(seconds=60), step: str = "sleep:a") -> Wait:
    """A wait for a time."""
    return Wait(kind=WaitKind.TIME, step=step, timeout=length)


def for_signal(signal: str = APPROVED, timeout: timedelta | None = None) -> Wait:
    """A wait for a signal."""
    return Wait(kind=WaitKind.SIGNAL, step=f"wait:{signal}", signal=signal, timeout=timeout)


def for_answer(step: str = "charge") -> Wait:
    """A wait for the word of an operator."""
    return Wait(kind=WaitKind.ANSWER, step=step)


async def suspend(store: Store, lease: Lease, wait: Wait, worker: str = "a") -> State | None:
    """Suspend one job; the state that this led to, None if the lease was lost."""
    return (await store.suspend(worker, [Suspension(lease, wait)])).get(lease)


async def suspended_for(store: Store, wait: Wait, **fields: Any) -> UUID:
    """A new job that is suspended under a wait."""
    lease = await held(store, **fields)
    assert await suspend(store, lease, wait) is State.SUSPENDED
    return lease.job


def approval(body: str = '{"ok":true}', by: str = "ann", name: str = APPROVED) -> Signal:
    """A signal."""
    return Signal(name=name, by=by, body=Document(body))


async def tell(store: Store, job: UUID, signal: Signal | None = None) -> Signalled:
    """Send a signal to a job that exists."""
    answer = await store.signal(job, signal or approval())
    assert answer is not None
    return answer


async def say(store: Store, job: UUID, *, happened: bool = True, **fields: Any) -> Answered:
    """Say about an effect of a job that exists whether it has happened."""
    terms = {"step": "charge", "by": "ann"} | fields
    answer = await store.answer(job, EffectAnswer(happened=happened, **terms))
    assert answer is not None
    return answer


async def in_doubt(store: Store, backend: Backend, **fields: Any) -> UUID:
    """A job in line again whose last attempt was lost in the middle of an effect."""
    lease = await held(store, **fields)
    assert await keep(store, lease, intended()) == [Keeping.KEPT]
    await backend.clock.advance(seconds(31))
    await store.reap(10)
    return lease.job


def lease_of(claimed: Claimed) -> Lease:
    """The lease of a claim."""
    return claimed.lease
