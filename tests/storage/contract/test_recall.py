"""Recalling: an attempt finds what the job has kept, as far as it holds the job."""

from datetime import timedelta

from tenure.core.model.durable import (
    SHORT_BODIES,
    SHORT_BODY,
    SHORT_SIGNALS,
    Recollection,
    StepKind,
    StepStatus,
)
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    approval,
    done,
    for_signal,
    held,
    held_again,
    intended,
    keep,
    recalled,
    sleep,
    suspend,
    tell,
)
from tests.storage.verbs import seconds, settle, unrecoverable


async def test_a_job_that_has_kept_nothing_recalls_nothing(store: Store) -> None:
    assert await recalled(store, await held(store)) == Recollection([])


async def test_a_later_attempt_finds_all_that_was_kept(store: Store, clock: Clock) -> None:
    """S0.7: it goes on where the one before has ended."""
    first = await held(store)
    await keep(store, first, done("z", "1"), intended(), done("a", None))
    await store.save_checkpoints("a", [(first, Document('{"page":2}'))])
    await tell(store, first.job)
    await clock.advance(seconds(31))
    await store.reap(10)
    second = await held_again(store)

    found = await recalled(store, second)

    assert [(step.name, step.status, step.body, step.fence) for step in found.steps] == [
        ("z", StepStatus.DONE, "1", first.fence),
        ("charge", StepStatus.INTENDED, None, first.fence),
        ("a", StepStatus.DONE, None, first.fence),
    ]
    assert found.checkpoint == '{"page":2}'
    assert found.signals == {"approved": '{"ok":true}'}
    assert found.waits_over == frozenset()


async def test_only_the_owner_recalls_and_only_while_its_lease_holds(store: Store, clock: Clock) -> None:
    """S0.61: an old attempt reads nothing that it could act on."""
    lease = await held(store)
    await keep(store, lease, done())
    await tell(store, lease.job)

    for worker, asked in (("b", lease), ("a", Lease(lease.job, lease.fence + 1))):
        assert await store.recall(worker, asked) is None
        assert await store.recall_step(worker, asked, "fetch") is None
        assert await store.recall_signal(worker, asked, "approved") is None
    assert await store.recall_step("a", lease, "fetch") is not None
    await clock.advance(seconds(30))
    assert await store.recall("a", lease) is None
    assert await store.recall_step("a", lease, "fetch") is None
    assert await store.recall_signal("a", lease, "approved") is None


async def test_long_results_are_asked_for_one_by_one(store: Store) -> None:
    lease = await held(store)
    just, longer = '"' + "x" * (SHORT_BODY - 2) + '"', '"' + "x" * (SHORT_BODY - 1) + '"'
    await keep(store, lease, done("just", just), done("longer", longer), done("short", "1"))

    found = {step.name: (step.body, step.size) for step in (await recalled(store, lease)).steps}

    assert found == {"just": (just, SHORT_BODY), "longer": (None, SHORT_BODY + 1), "short": ("1", 1)}
    step = await store.recall_step("a", lease, "longer")
    assert step is not None
    assert step.body == longer
    assert await store.recall_step("a", lease, "none") is None


async def test_a_recollection_has_a_largest_size(store: Store) -> None:
    """What a child is sent fits into one frame, however much there is."""
    lease = await held(store)
    body = '"' + "x" * (SHORT_BODY - 2) + '"'
    fit = SHORT_BODIES // SHORT_BODY
    await keep(store, lease, *(done(f"{number}", body) for number in range(fit + 2)))
    steps = (await recalled(store, lease)).steps
    assert [step.body is None for step in steps] == [False] * fit + [True] * 2
    assert steps[-1].size == SHORT_BODY


async def test_long_signals_are_named(store: Store) -> None:
    lease = await held(store)
    long, short = '"' + "x" * SHORT_BODY + '"', '"' + "x" * (SHORT_BODY - 2) + '"'
    fit = SHORT_SIGNALS // SHORT_BODY
    await tell(store, lease.job, approval(long, name="long"))
    for number in range(fit + 1):
        await tell(store, lease.job, approval(short, name=f"s{number:02}"))

    found = await recalled(store, lease)

    assert len(found.signals) == fit
    assert found.long_signals == {"long", f"s{fit:02}"}
    signal = await store.recall_signal("a", lease, "long")
    assert signal == approval(long, name="long")


async def test_sleeps_and_waits_whose_time_has_come_are_named(store: Store, clock: Clock) -> None:
    """By the store's clock: a child's own may differ."""
    lease = await held(store)
    assert await suspend(store, lease, sleep(seconds(60), "sleep:a")) is State.SUSPENDED
    await clock.advance(seconds(60))
    await store.promote(10)
    lease = await held_again(store)
    assert (await recalled(store, lease)).waits_over == {"sleep:a"}
    [step] = (await recalled(store, lease)).steps
    assert (step.kind, step.status, step.until) == (StepKind.SLEEP, StepStatus.WAITING, clock.now)

    assert await suspend(store, lease, for_signal(timeout=timedelta(seconds=30))) is State.SUSPENDED
    await tell(store, lease.job)
    lease = await held_again(store)
    assert (await recalled(store, lease)).waits_over == {"sleep:a"}, "the signal came first"


async def test_a_replay_begins_without_any(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, done())
    await store.save_checkpoints("a", [(lease, Document("1"))])
    await tell(store, lease.job)
    await settle(store, [unrecoverable(lease)])
    await store.replay([lease.job])
    assert await recalled(store, await held_again(store)) == Recollection([])
