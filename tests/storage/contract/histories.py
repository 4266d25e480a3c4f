"""The lives of two dozen jobs, verb by verb: every verb that moves a job, every state."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line, Order
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine, Note
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    found,
    line,
    note,
    recoverable,
    seconds,
    settle,
    stopped,
    succeeded,
    suspended,
    trail,
    unrecoverable,
)

POST = Line("default", "post")
SLOW = Line("slow", "mail", 2)
SERVED = (MAIL, POST, SLOW)
ONCE = Policy(on_lost=OnLost.BURY)

ASKED = {
    "held": NewJob(definition="mail", hold=True),
    "held for good": NewJob(definition="post", hold=True),
    "held and delayed": NewJob(definition="mail", hold=True, delay=seconds(10)),
    "held and dropped": NewJob(definition="post", hold=True),
    "delayed": NewJob(definition="mail", delay=seconds(10), tags=("red",)),
    "delayed for good": NewJob(definition="post", delay=timedelta(days=900)),
    "delayed and dropped": NewJob(definition="mail", delay=seconds(10)),
    "unserved": NewJob(definition="wire", namespace="theirs"),
    "dropped": NewJob(definition="post", tags=("red", "blue")),
    "good": NewJob(definition="mail", tags=("blue",), key="good"),
    "good too": NewJob(definition="mail", queue="slow", version=2),
    "retried": NewJob(definition="post", limits=(Limit("api", size=9),)),
    "bad": NewJob(definition="mail", limits=(Limit("api", size=9), Limit("tenant", "t", 9))),
    "sleeper": NewJob(definition="post", queue="default"),
    "asked to stop": NewJob(definition="mail", queue="slow", version=2),
    "given up": NewJob(definition="mail", policy=Policy(max_attempts=9)),
    "given up later": NewJob(definition="mail", policy=Policy(max_attempts=9)),
    "returned": NewJob(definition="post"),
    "killed": NewJob(definition="mail", policy=ONCE),
    "lost": NewJob(definition="mail", queue="slow", version=2),
    "lost for good": NewJob(definition="post", policy=Policy(max_attempts=1)),
    "lost and buried": NewJob(definition="mail", policy=ONCE),
    "lost while asked to stop": NewJob(definition="post"),
}


async def lives(store: Store, clock: Clock) -> AsyncIterator[tuple[str, list[UUID]]]:
    """Lead them all: after each verb its name and every job so far."""
    jobs = dict(zip(ASKED, [born.id for born in await store.enqueue(list(ASKED.values()))], strict=True))
    known = list(jobs.values())
    yield "enqueue", known
    async for verb in _before_the_first_claim(store, clock, jobs):
        yield verb, known
    owned = {job.lease.job: job for job in await claim(store, limit=100, lines=SERVED)}
    yield "claim", known
    async for verb in _owned(store, {name: owned[job] for name, job in jobs.items() if job in owned}):
        yield verb, known
    async for verb in _after_the_leases(store, clock, jobs):
        yield verb, known
    replays = await store.replay([jobs["bad"], jobs["killed"]])
    known += [again.replay for again in replays if again.replay]
    yield "replay", known
    await claim(store, worker="b", limit=1, lines=SERVED)
    yield "claim by another", known


async def _before_the_first_claim(store: Store, clock: Clock, jobs: dict[str, UUID]) -> AsyncIterator[str]:
    await store.accept([jobs["held"], jobs["held and delayed"]])
    yield "accept"
    await store.cancel([jobs[f"{how}dropped"] for how in ("", "held and ", "delayed and ")])
    yield "cancel"
    await clock.advance(seconds(10))
    await store.promote(100)
    yield "promote"


async def _owned(store: Store, owned: dict[str, Claimed]) -> AsyncIterator[str]:
    parts: list[LogLine | Note] = [note("begun", '{"by":"ann"}'), note("half"), line(1), line(2)]
    await store.record("a", [trail(owned[name], *parts) for name in ("good", "sleeper", "lost")])
    yield "record"
    await settle(store, [succeeded(owned["good"]), unrecoverable(owned["bad"])])
    yield "settle"
    yields = [recoverable(owned["retried"]), suspended(owned["sleeper"])]
    order = Order(worker="a", lines=SERVED, limit=1)
    await store.settle_and_claim([succeeded(owned["good too"]), *yields], order)
    yield "settle and claim"
    await settle(store, [recoverable(owned["given up"]), recoverable(owned["given up later"])])
    yield "settle for a retry"
    await store.cancel([owned["asked to stop"].lease.job, owned["lost while asked to stop"].lease.job])
    yield "cancel what runs"
    await settle(store, [stopped(owned["asked to stop"])])
    yield "settle what was to stop"
    await store.hand_back("a", unstarted=[owned["returned"].lease], killed=[owned["killed"].lease])
    yield "hand back"
    await store.give_up([owned["given up"].lease.job])
    yield "give up"


async def _after_the_leases(store: Store, clock: Clock, jobs: dict[str, UUID]) -> AsyncIterator[str]:
    await store.promote(1)
    yield "promote what was given up"
    await clock.advance(seconds(60))
    await store.reap(100)
    yield "reap"
    await store.promote(100)
    yield "promote what has waited"
    await store.cancel([jobs["given up later"]])
    yield "cancel what was retried"
    for claimed in await claim(store, limit=2, lines=(SLOW,)):
        await settle(store, [succeeded(claimed)])
        await store.annotate(claimed.lease, note("late"))
    yield "settle what was lost, and more of it"


async def standing(store: Store, jobs: Iterable[UUID]) -> dict[Line, Counter[State]]:
    """How many jobs of each line are in each state, counted one by one."""
    counts: dict[Line, Counter[State]] = {}
    for id_ in jobs:
        job = await found(store, id_)
        counts.setdefault(Line(job.queue, job.definition, job.version), Counter())[job.state] += 1
    return counts
