"""Opening and closing: what is written outlives the store; a database that is not there is named as such."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import iscoroutinefunction, isfunction
from uuid import uuid4

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.durable import EffectAnswer, Suspension
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Order, Pulse
from tenure.core.model.states import State
from tenure.core.model.trail import HOOK_FAILED, LogLine, Note, Trail
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.reports.retention import Retention
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import Firing, NewSchedule, Schedule, ScheduledJob
from tenure.core.values.documents import Document
from tenure.storage.contract.claims_by_id import ClaimsByIdStore
from tenure.storage.contract.durable import DurableStore
from tenure.storage.contract.messages import MessageStore
from tenure.storage.contract.operations import OperationsStore
from tenure.storage.contract.reading import ReadingStore
from tenure.storage.contract.retention import RetentionStore
from tenure.storage.contract.schedules import ScheduleStore
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.durable_verbs import approval, done, sleep
from tests.storage.verbs import (
    EVERY_JOB,
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    job_in,
    record_of,
    seconds,
    settle,
    succeeded,
)

JOB = uuid4()
LEASE = Lease(JOB, 1)
WORKER = WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=(MAIL,))
HOURLY = NewSchedule(
    id="hourly",
    job=ScheduledJob(definition="mail"),
    recurrence=Recurrence(cron="@hourly", starts_at=START),
)
ON_RECORD = Schedule(
    asked=HOURLY,
    revision=1,
    next_at=START,
    last_at=None,
    remaining=None,
    paused_at=None,
    paused_by=None,
    reason=None,
    created_at=START,
    updated_at=START,
)
FIRING = Firing(namespace="default", schedule="hourly", revision=1, expected=START, next_at=None, ticks=())
VERBS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "migrate": lambda store: store.migrate(),
    "migration_sql": lambda store: store.migration_sql(),
    "verify": lambda store: store.verify(),
    "inspect": lambda store: store.inspect(),
    "now": lambda store: store.now(),
    "store_id": lambda store: store.store_id(),
    "enqueue": lambda store: store.enqueue([NewJob(definition="mail")]),
    "enqueue_strictly": lambda store: store.enqueue_strictly([NewJob(definition="mail")]),
    "known_keys": lambda store: store.known_keys([("default", "mail", "k")]),
    "draft": lambda store: store.draft([NewJob(definition="of_a_line_never_seen")]),
    "spawn": lambda store: store.spawn("a", Lease(JOB, 1), [NewJob(definition="mail")]),
    "accept": lambda store: store.accept([JOB]),
    "cancel": lambda store: store.cancel([JOB]),
    "give_up": lambda store: store.give_up([JOB]),
    "reschedule": lambda store: store.reschedule([JOB]),
    "replay": lambda store: store.replay([JOB]),
    "settle_and_claim": claim,
    "claim_these": lambda store: store.claim_these(Order(worker="a", lines=(MAIL,), limit=1), [JOB]),
    "note_receiver": lambda store: store.note_receiver("a", "jobs", None),
    "remind": lambda store: store.remind("jobs", after=seconds(10), every=seconds(5), limit=1),
    "heartbeat": lambda store: store.heartbeat(Pulse(worker="a", leases=[LEASE])),
    "hand_back": lambda store: store.hand_back("a", unstarted=[LEASE], killed=[]),
    "promote": lambda store: store.promote(1),
    "reap": lambda store: store.reap(1),
    "follow_up": lambda store: store.follow_up([MAIL], 1),
    "get": lambda store: store.get(JOB),
    "events": lambda store: store.events(JOB),
    "attempts": lambda store: store.attempts(JOB),
    "page": lambda store: store.page(EVERY_JOB),
    "briefs": lambda store: store.briefs([JOB]),
    "children": lambda store: store.children(JOB),
    "usages": lambda store: store.usages([JOB]),
    "ending_in": lambda store: store.ending_in("abcdef12"),
    "obstacles": lambda store: store.obstacles(JOB),
    "feed": lambda store: store.feed(),
    "end_of_feed": lambda store: store.end_of_feed(),
    "recent": lambda store: store.recent(),
    "outlook": lambda store: store.outlook([MAIL]),
    "lines": lambda store: store.lines(),
    "depth": lambda store: store.depth("default"),
    "pause": lambda store: store.pause("default"),
    "resume": lambda store: store.resume("default"),
    "pauses": lambda store: store.pauses(),
    "set_limit": lambda store: store.set_limit("api", 1),
    "limits": lambda store: store.limits(),
    "limit_page": lambda store: store.limit_page(),
    "put_definitions": lambda store: store.put_definitions(
        [Definition(key="mail", version=1, spec=Document("{}"))]
    ),
    "definitions": lambda store: store.definitions(),
    "enlist": lambda store: store.enlist(WORKER),
    "dismiss": lambda store: store.dismiss("a"),
    "drain": lambda store: store.drain("a"),
    "workers": lambda store: store.workers(),
    "retention": lambda store: store.retention(),
    "set_retention": lambda store: store.set_retention("mail", {"others": seconds(60)}),
    "prune": lambda store: store.prune(Retention()),
    "prune_logs": lambda store: store.prune_logs(Retention()),
    "resume_after_restore": lambda store: store.resume_after_restore(),
    "tidy": lambda store: store.tidy(),
    "record": lambda store: store.record("a", [Trail(LEASE, notes=(Note("custom:seen"),))]),
    "add_lines": lambda store: store.add_lines(Lease(JOB, 1), [LogLine(1, START, "info", "late")]),
    "annotate": lambda store: store.annotate(Lease(JOB, 1), Note(HOOK_FAILED)),
    "logs": lambda store: store.logs(JOB),
    "last_logs": lambda store: store.last_logs(JOB),
    "add_schedule": lambda store: store.add_schedule(HOURLY, next_at=START),
    "change_schedule": lambda store: store.change_schedule(ON_RECORD, HOURLY, next_at=START),
    "schedule": lambda store: store.schedule(ON_RECORD.name),
    "schedules": lambda store: store.schedules(),
    "next_schedules": lambda store: store.next_schedules(),
    "repetition": lambda store: store.repetition(str(JOB)),
    "repetitions": lambda store: store.repetitions("default", most=1),
    "announce_schedule": lambda store: store.announce_schedule(ON_RECORD.name, worker="a"),
    "delete_schedule": lambda store: store.delete_schedule(ON_RECORD.name),
    "pause_schedule": lambda store: store.pause_schedule(ON_RECORD.name),
    "resume_schedule": lambda store: store.resume_schedule(ON_RECORD, next_at=START),
    "abort_schedule": lambda store: store.abort_schedule(ON_RECORD.name),
    "due_schedules": lambda store: store.due_schedules(),
    "fire": lambda store: store.fire([FIRING]),
    "trigger_schedule": lambda store: store.trigger_schedule(
        ON_RECORD.name, NewJob(definition="mail"), revision=1, is_open=False
    ),
    "troubled_schedules": lambda store: store.troubled_schedules(),
    "recent_ticks": lambda store: store.recent_ticks([ON_RECORD.name]),
    "ticks": lambda store: store.ticks(ON_RECORD.name),
    "recall": lambda store: store.recall("a", LEASE),
    "recall_step": lambda store: store.recall_step("a", LEASE, "fetch"),
    "recall_signal": lambda store: store.recall_signal("a", LEASE, "approved"),
    "keep_steps": lambda store: store.keep_steps("a", [(LEASE, done())]),
    "save_checkpoints": lambda store: store.save_checkpoints("a", [(LEASE, Document("1"))]),
    "forget_steps": lambda store: store.forget_steps("a", LEASE, ""),
    "suspend": lambda store: store.suspend("a", [Suspension(LEASE, sleep())]),
    "signal": lambda store: store.signal(JOB, approval()),
    "answer": lambda store: store.answer(JOB, EffectAnswer(step="charge", happened=True, by="ann")),
    "steps": lambda store: store.steps(JOB),
    "count_steps": lambda store: store.count_steps(JOB),
    "open_waits": lambda store: store.open_waits([JOB]),
    "signals": lambda store: store.signals(JOB),
    "effects_in_doubt": lambda store: store.effects_in_doubt(),
}
"""Every verb that asks the database, each with something to ask."""

ASK_NOTHING = {"open", "close", "listen", "reset_clock"}
"""These do not: two are what this file is about, hints may fail to come, and a server's clock is its own."""


@pytest.fixture
async def store(backend: Backend) -> AsyncIterator[Store]:
    """A store whose connections are its own, and are gone when it is closed."""
    opened = backend.store()
    await opened.open()
    yield opened
    await opened.close()


def test_no_verb_of_the_contract_is_missing_here() -> None:
    """Nor from any other test that goes through the table."""
    kinds = (
        Store,
        ReadingStore,
        OperationsStore,
        RetentionStore,
        ScheduleStore,
        ClaimsByIdStore,
        DurableStore,
        MessageStore,
    )
    parts = [vars(part) for part in kinds]
    members = [item for part in parts for item in part.items()]
    contract = {name for name, member in members if isfunction(member) and name[0] != "_"}
    assert VERBS.keys() == contract - ASK_NOTHING


async def test_a_database_that_is_not_there_cannot_be_opened(unreachable: Store) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await unreachable.open()
    assert not caught.value.unknown


@pytest.mark.parametrize("verb", sorted(VERBS))
async def test_every_verb_on_a_database_that_is_not_there_says_so(unreachable: Store, verb: str) -> None:
    with pytest.raises(StoreUnavailable):
        await unreachable.open()
    with pytest.raises(StoreUnavailable):
        await VERBS[verb](unreachable)


@pytest.mark.parametrize("verb", sorted(VERBS))
async def test_every_verb_on_a_closed_store_says_so(store: Store, verb: str) -> None:
    await store.close()
    with pytest.raises(StoreUnavailable):
        await VERBS[verb](store)


async def test_closing_what_could_not_be_opened_is_harmless(unreachable: Store) -> None:
    with pytest.raises(StoreUnavailable):
        await unreachable.open()
    await unreachable.close()


async def test_closing_twice_is_harmless(store: Store) -> None:
    await store.close()
    await store.close()


async def test_closing_finishes_what_was_handed_in(store: Store, other: Store, backend: Backend) -> None:
    """S3.25, S3.28: shutdown loses nothing and writes nothing in part."""
    *answers, _ = await asyncio.gather(
        *(store.enqueue([NewJob(definition="mail")] * 10) for _ in range(20)), store.close()
    )
    for enqueued in answers:
        assert enqueued is not None
        assert [(await found(other, answer.id)).state for answer in enqueued] == [State.QUEUED] * 10
    assert await count(backend, "tenure.job") == await count(backend, "tenure.job_state") == 200


async def test_everything_is_there_when_the_database_is_opened_again(store: Store, backend: Backend) -> None:
    """S0.4, S0.59, S0.76: all that was asked, and all that happened, is rebuilt from the database."""
    jobs = [await job_in(store, state, key=state.value, traceparent="00-1-2-01") for state in State]
    before = [await record_of(store, job) for job in jobs]
    await store.close()

    again = backend.store()
    await again.open()
    after = [await record_of(again, job) for job in jobs]
    await again.close()
    assert after == before


async def test_a_lease_outlives_the_connection_it_was_made_on(
    store: Store, other: Store, clock: Clock
) -> None:
    """S0.76: no lock is lost or left behind with a connection; only time ends a lease."""
    kept, lost = await enqueue_one(store), await enqueue_one(store)
    claimed = {owned.lease.job: owned for owned in await claim(store, lease_for=seconds(30))}
    await store.close()

    assert await claim(other, worker="b") == []
    assert (await settle(other, [succeeded(claimed[kept])])).accepted == {
        claimed[kept].lease: State.SUCCEEDED
    }
    await clock.advance(seconds(31))
    assert [step.job for step in await other.reap(10)] == [lost]
    assert [owned.lease.job for owned in await claim(other, worker="b")] == [lost]


async def test_time_is_the_stores(store: Store, other: Store, clock: Clock) -> None:
    assert await store.now() == await other.now() == START
    later = await clock.advance(seconds(90))
    assert await store.now() == await other.now() == later


async def test_an_order_for_nothing_is_answered_with_nothing(store: Store) -> None:
    answer = await store.settle_and_claim([], Order(worker="a", lines=(), limit=0))
    assert (answer.settled.accepted, list(answer.settled.lost), list(answer.claimed)) == ({}, [], [])


async def test_whoever_wraps_a_store_finds_the_verbs_to_await(store: Store) -> None:
    """What times the verbs looks at which of them are coroutine functions; others are not timed."""
    verbs = {name for kind in Store.__mro__ for name, verb in vars(kind).items() if iscoroutinefunction(verb)}
    assert {name for name in verbs if not iscoroutinefunction(getattr(store, name))} == set()
    assert "enqueue" in verbs
