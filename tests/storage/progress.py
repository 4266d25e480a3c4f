"""Short functions for what handlers keep of their progress: `keep`, `begin`, `wait_for`, `in_doubt`."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.durable import (
    Keeping,
    StepDraft,
    StepKind,
    StepStatus,
    Suspension,
    Wait,
    WaitKind,
)
from tenure.core.model.lease import Claimed
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, settle, unrecoverable


async def keep(store: Store, held: Claimed, name: str, result: str = "null", worker: str = "a") -> None:
    """A step that is done."""
    step = StepDraft(name=name, kind=StepKind.STEP, status=StepStatus.DONE, body=Document(result))
    assert await store.keep_steps(worker, [(held.lease, step)]) == [Keeping.KEPT]


async def begin(store: Store, held: Claimed, name: str, worker: str = "a") -> None:
    """An effect that is announced, and about to begin."""
    step = StepDraft(name=name, kind=StepKind.ONCE, status=StepStatus.INTENDED)
    assert await store.keep_steps(worker, [(held.lease, step)]) == [Keeping.KEPT]


async def wait_for(
    store: Store, held: Claimed, signal: str, timeout: timedelta | None = None, worker: str = "a"
) -> State:
    """Suspend a job until it is sent a signal."""
    wait = Wait(kind=WaitKind.SIGNAL, step=f"wait:{signal}", signal=signal, timeout=timeout)
    return (await store.suspend(worker, [Suspension(held.lease, wait)]))[held.lease]


async def ask(store: Store, held: Claimed, effect: str, worker: str = "a") -> State:
    """Suspend a job until somebody says whether its effect has happened."""
    wait = Wait(kind=WaitKind.ANSWER, step=effect)
    return (await store.suspend(worker, [Suspension(held.lease, wait)]))[held.lease]


async def waiting(store: Store, signal: str = "approved", timeout: timedelta | None = None) -> UUID:
    """A job that has kept a step and waits for a signal."""
    job = await enqueue_one(store)
    [held] = await claim(store)
    await keep(store, held, "plan", '{"parts":2}')
    assert await wait_for(store, held, signal, timeout) is State.SUSPENDED
    return job


async def in_doubt(store: Store, effect: str = "charge") -> UUID:
    """A dead letter whose effect may or may not have happened."""
    job = await enqueue_one(store)
    [held] = await claim(store)
    await begin(store, held, effect)
    await settle(store, [unrecoverable(held)])
    return job


async def asking(store: Store, effect: str = "charge") -> UUID:
    """A job that waits for an answer: the attempt that began its effect was lost, and the next one asks."""
    job = await enqueue_one(store)
    [lost] = await claim(store)
    await begin(store, lost, effect)
    await store.hand_back("a", unstarted=[], killed=[lost.lease])
    [held] = await claim(store)
    assert await ask(store, held, effect) is State.SUSPENDED
    return job


async def many_steps(store: Store, count: int) -> UUID:
    """A job that runs and has kept so many steps, each with its number."""
    job = await enqueue_one(store)
    [held] = await claim(store)
    done = [
        StepDraft(name=f"part {n}", kind=StepKind.STEP, status=StepStatus.DONE, body=Document(str(n)))
        for n in range(count)
    ]
    assert set(await store.keep_steps("a", [(held.lease, step) for step in done])) == {Keeping.KEPT}
    return job
