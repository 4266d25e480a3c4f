"""Keeping steps: what a handler has done is on record if its lease holds, and stays as it was first kept."""

import pytest
from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import (
    LARGEST_PROGRESS,
    LARGEST_STEP,
    MOST_STEPS,
    Keeping,
    StepKind,
    StepStatus,
)
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    done,
    happened,
    held,
    held_again,
    in_doubt,
    intended,
    keep,
    kept,
    skipped,
    statuses,
)
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    path_of,
    record_of,
    seconds,
    settle,
    succeeded,
)

KEPT, LOST, DIFFERS, FULL = Keeping.KEPT, Keeping.LOST, Keeping.DIFFERS, Keeping.FULL


async def test_a_step_is_kept_with_its_result(store: Store, clock: Clock) -> None:
    """S0.7: what an attempt has done is there for the next one."""
    lease = await held(store)

    assert await keep(store, lease, done("fetch", '{"rows":3}', call="abc"), done("empty", None)) == [
        KEPT,
        KEPT,
    ]

    fetch, empty = await kept(store, lease.job)
    assert (fetch.name, fetch.kind, fetch.status, fetch.call) == (
        "fetch",
        StepKind.STEP,
        StepStatus.DONE,
        "abc",
    )
    assert (fetch.body, fetch.size, fetch.fence, fetch.at) == ('{"rows":3}', 10, lease.fence, clock.now)
    assert (empty.body, empty.size) == (None, None)


async def test_keeping_a_step_moves_nothing(store: Store) -> None:
    lease = await held(store)
    before = await record_of(store, lease.job)
    await keep(store, lease, done())
    assert await record_of(store, lease.job) == before


async def test_what_was_lost_keeps_nothing(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: only the owner, and only while its lease holds."""
    lease = await held(store, worker="a")
    forged = Lease(lease.job, lease.fence + 1)

    assert await keep(store, lease, done(), worker="b") == [LOST]
    assert await keep(store, forged, done()) == [LOST]
    await clock.advance(seconds(30))
    assert await keep(store, lease, done()) == [LOST]
    assert await kept(store, lease.job) == []

    await store.reap(10)
    new = await held_again(store)
    assert await keep(store, lease, done()) == [LOST]
    assert await keep(store, new, done()) == [KEPT]


async def test_keeping_the_same_again_is_no_error(store: Store, clock: Clock) -> None:
    """The answer was lost on its way: the worker asks once more."""
    lease = await held(store)
    await keep(store, lease, done(), intended())
    before = await kept(store, lease.job)
    await clock.advance(seconds(1))
    assert await keep(store, lease, done(), intended()) == [KEPT, KEPT]
    assert await kept(store, lease.job) == before


async def test_a_finished_step_never_changes(store: Store, clock: Clock) -> None:
    lease = await held(store)
    await keep(store, lease, done(body="1", call="f"))
    before = await kept(store, lease.job)

    others = [
        done(body="2", call="f"),
        done(body="1", call="g"),
        done(body=None, call="f"),
        intended("fetch"),
        happened("fetch"),
    ]
    assert await keep(store, lease, *others) == [DIFFERS] * len(others)
    await clock.advance(seconds(31))
    await store.reap(10)
    assert await keep(store, await held_again(store), done(body="1", call="f")) == [DIFFERS]
    assert await kept(store, lease.job) == before


async def test_a_refused_step_leaves_the_others_alone(store: Store) -> None:
    first, second = await enqueue_one(store), await enqueue_one(store)
    one, two = [claimed.lease for claimed in await claim(store)]
    await keep(store, one, done("a", "1"))
    gone = Lease(second, two.fence + 7)

    answer = await store.keep_steps(
        "a", [(one, done("a", "2")), (two, done("b")), (gone, done("c")), (one, done("d")), (two, done("b"))]
    )

    assert answer == [DIFFERS, KEPT, LOST, KEPT, KEPT]
    assert list(await statuses(store, first)) == ["a", "d"]
    assert list(await statuses(store, second)) == ["b"]


async def test_one_name_twice_in_a_call_goes_in_its_order(store: Store) -> None:
    lease = await held(store)
    assert await keep(store, lease, intended(), happened(), happened(body="2")) == [KEPT, KEPT, DIFFERS]
    [step] = await kept(store, lease.job)
    assert (step.status, step.body) == (StepStatus.DONE, "1")


async def test_an_effect_is_announced_and_then_done(store: Store) -> None:
    lease = await held(store)
    assert await keep(store, lease, intended(call="f")) == [KEPT]
    assert await statuses(store, lease.job) == {"charge": "intended"}
    assert await keep(store, lease, happened(call="g")) == [DIFFERS]
    assert await keep(store, lease, happened(call="f")) == [KEPT]
    assert await statuses(store, lease.job) == {"charge": "done"}
    assert await path_of(store, lease.job) == ["queued", "started"]


@pytest.mark.parametrize("way", ["again", "done", "skipped"])
async def test_going_on_with_an_effect_in_doubt_is_on_record(
    store: Store, backend: Backend, way: str
) -> None:
    """S3.65: it may have happened twice, or not at all: the history says that somebody chose so."""
    job = await in_doubt(store, backend)
    new = await held_again(store)
    step = {"again": intended(), "done": happened(), "skipped": skipped()}[way]

    assert await keep(store, new, step) == [KEPT]

    [on_record] = await kept(store, job)
    assert (on_record.status, on_record.fence) == (step.status, new.fence)
    *_, note = await store.events(job)
    assert (note.type, note.actor, note.source) == ("custom:in_doubt", "a", note.target)
    assert note.payload is not None
    assert Document(note.payload).replace(" ", "") == f'{{"step":"charge","status":"{step.status}"}}'
    assert (await found(store, job)).updated_at == backend.clock.now
    assert await keep(store, new, step) == [KEPT]
    assert (await store.events(job))[-1] == note
    await settle(store, [succeeded(new)])
    assert (await path_of(store, job))[-2:] == ["custom:in_doubt", "succeeded"]


async def test_several_effects_in_doubt_are_told_one_by_one(store: Store, clock: Clock) -> None:
    lease = await held(store)
    await keep(store, lease, intended("a"), intended("b"), done("c"))
    await clock.advance(seconds(31))
    await store.reap(10)
    new = await held_again(store)
    assert await keep(store, new, intended("a"), done("d"), intended("b")) == [KEPT] * 3
    events = await store.events(lease.job)
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert [event.payload and '"a"' in event.payload for event in events[-2:]] == [True, False]
    assert (await found(store, lease.job)).fence == new.fence


async def test_a_job_keeps_so_many_steps_and_no_more(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await keep(store, lease, done("a"), intended())
    await backend.sql(f"UPDATE tenure.kept SET steps = {MOST_STEPS - 1}")

    assert await keep(store, lease, done("b"), done("c"), done("a")) == [KEPT, FULL, KEPT]
    assert await keep(store, lease, done("d")) == [FULL]
    assert await keep(store, lease, happened()) == [KEPT], "what was announced can be finished"
    assert list(await statuses(store, lease.job)) == ["a", "charge", "b"]


async def test_a_job_keeps_so_many_bytes_and_no_more(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await keep(store, lease, intended())
    await backend.sql(f"UPDATE tenure.kept SET bytes = {LARGEST_PROGRESS - 10}")

    assert await keep(store, lease, done("a", '"12345678"'), happened(body="12")) == [KEPT, FULL]
    assert await statuses(store, lease.job) == {"charge": "intended", "a": "done"}
    assert await keep(store, lease, replace(happened(), body=None), done("b", None)) == [KEPT, KEPT]


async def test_what_is_kept_is_counted_as_it_is_kept(store: Store, backend: Backend) -> None:
    """Nobody counts all steps for each: 10,000 of them cost what they cost one by one."""
    lease = await held(store)
    await keep(store, lease, done("a", '"ä"'), intended(), done("a", '"ä"'))
    await keep(store, lease, happened(body="123"), done("b", None))
    assert await backend.sql("SELECT steps, bytes FROM tenure.kept") == [(3, 4 + 3)]
    [(bytes_there,)] = await backend.sql("SELECT sum(size) FROM tenure.step")
    assert bytes_there == 4 + 3


@pytest.mark.parametrize("status", [StepStatus.WAITING, StepStatus.CLEARED])
async def test_what_a_handler_cannot_say_is_refused(store: Store, status: StepStatus) -> None:
    lease = await held(store)
    with pytest.raises(InvalidInput, match="status"):
        await keep(store, lease, intended(status=status))


async def test_a_result_has_a_largest_size() -> None:
    done(body="1" * LARGEST_STEP)
    with pytest.raises(InvalidInput, match="body"):
        done(body="1" * (LARGEST_STEP + 1))


@pytest.mark.parametrize("name", ["", "a/b", "a#2?", "a" * 201, "ä" * 101, "a\nb"])
async def test_names_that_no_address_can_have_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        done(name)


async def test_nothing_to_keep_is_no_error(store: Store) -> None:
    assert await store.keep_steps("a", []) == []


async def test_steps_of_a_hundred_attempts_go_in_one_call(store: Store, backend: Backend) -> None:
    await store.enqueue([NewJob(definition="mail") for _ in range(100)])
    leases = [claimed.lease for claimed in await claim(store, limit=100)]
    assert await store.keep_steps("a", [(lease, done()) for lease in leases]) == [KEPT] * 100
    assert await count(backend, "tenure.step") == 100
