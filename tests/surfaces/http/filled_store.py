"""A store that holds something of every kind, so that every route finds something."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Report
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    EVERY_JOB,
    claim,
    line,
    note,
    recoverable,
    settle,
    stopped,
    succeeded,
    suspended,
    trail,
    unrecoverable,
)
from tests.surfaces.http.http_server import register

NOTE = Spec(key="note", params_schema=write({}))
"""Its params may be anything."""

LIMIT = Limit("api", size=2)
WORKER = "w-1"
QUEUES = ("default", "slow")
ENDINGS: tuple[Callable[[Claimed], Report], ...] = (
    *(succeeded, unrecoverable, recoverable, suspended),
    stopped,  # which is asked to stop before
)


class Filled(NamedTuple):
    """What there is: jobs by their state, and the rest by name."""

    jobs: Mapping[State, Sequence[str]]
    definitions: Sequence[str] = (NOTE.key, "bill")
    workers: Sequence[str] = (WORKER,)
    queues: Sequence[str] = QUEUES
    limits: Sequence[str] = (LIMIT.name,)


async def filled(store: Store, clock: Clock) -> Filled:
    """Fill a store: definitions, a worker, a pause, a limit, and a job in every state that there is."""
    await register(store, NOTE, Spec(key="bill", queue="slow", concurrency=2))
    lines = (Line("default", NOTE.key),)
    await store.enlist(WorkerInfo(id=WORKER, host="h", pid=7, version="1", slots=2, lines=lines))
    await store.enqueue([NewJob(definition=NOTE.key, policy=Policy(on_lost=OnLost.BURY))])
    await claim(store, lines=lines, lease_for=timedelta(seconds=1))
    await clock.advance(timedelta(seconds=2))
    await store.reap(10)
    await store.enqueue([NewJob(definition=NOTE.key)] * len(ENDINGS))
    claimed = await claim(store, WORKER, lines=lines)
    await store.cancel([claimed[-1].lease.job])
    await store.record(WORKER, [trail(one, line(1), note()) for one in claimed])
    await settle(store, [end(one) for end, one in zip(ENDINGS, claimed, strict=True)], WORKER)
    await store.enqueue([NewJob(definition=NOTE.key)] * 2)
    *_, stopping = await claim(store, WORKER, lines=lines)
    await store.cancel([stopping.lease.job])
    await store.enqueue(
        [
            NewJob(definition=NOTE.key),
            NewJob(definition=NOTE.key, hold=True),
            NewJob(definition=NOTE.key, delay=timedelta(hours=1)),
            NewJob(definition="bill", queue="slow", limits=(LIMIT,)),
        ]
    )
    await store.pause("slow", by="ann", reason="a fire")
    jobs = (await store.page(EVERY_JOB, limit=200)).jobs
    by_state = {state: [str(job.id) for job in jobs if job.state is state] for state in State}
    assert all(by_state.values()), by_state
    return Filled(by_state)
