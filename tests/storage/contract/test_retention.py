"""How long finished jobs are kept, for all definitions and for single ones, and what goes by it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.lease import Line
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.retention import FOR_ALL, PARTS, PruneScope, Retention
from tenure.core.values.bounds import HORIZON
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    job_in,
    jobs_and_next,
    line,
    note,
    one_in_each_state,
    record_of,
    seconds,
    settle,
    succeeded,
    trail,
)

DAY = timedelta(days=1)
NONE = timedelta(0)
EVERYTHING = Retention(succeeded=NONE, others=NONE, keyed=NONE)
LINES = [Line("default", name) for name in ("mail", "bill", "memo")]


async def ended(store: Store, definition: str, **asked: Any) -> UUID:
    """A job that has been cancelled."""
    job = await enqueue_one(store, definition, **asked)
    await store.cancel([job])
    return job


async def logged(store: Store, *definitions: str) -> list[UUID]:
    """Jobs that have succeeded, with two log lines each."""
    jobs = [await enqueue_one(store, definition) for definition in definitions]
    owned = await claim(store, lines=LINES)
    await store.record("a", [trail(one, line(1), line(2), note()) for one in owned])
    await settle(store, [succeeded(one) for one in owned])
    return jobs


async def left(store: Store, *jobs: UUID) -> list[bool]:
    return [await store.get(job) is not None for job in jobs]


async def test_a_new_store_keeps_success_for_a_week_and_the_rest_for_a_month(store: Store) -> None:
    policy = await store.retention()
    assert policy.for_all == Retention(succeeded=7 * DAY, others=30 * DAY, keyed=7 * DAY, logs=None)
    assert (policy.own, policy.usual.by) == ({}, "migration")


async def test_a_definition_overrides_part_by_part_and_follows_all_in_the_rest(
    store: Store, clock: Clock
) -> None:
    await clock.advance(DAY)
    await store.set_retention("mail", {"succeeded": DAY, "logs": seconds(5)}, by="ann")
    await store.set_retention(FOR_ALL, {"others": 3 * DAY}, by="bob")
    policy = await store.retention()
    [rule] = policy.rules
    assert (rule.definition, rule.succeeded, rule.others, rule.keyed, rule.logs) == (
        *("mail", DAY, None, None, seconds(5)),
    )
    assert (rule.by, rule.at, policy.usual.by) == ("ann", await store.now(), "bob")
    assert policy.of("mail") == Retention(succeeded=DAY, others=3 * DAY, keyed=7 * DAY, logs=seconds(5))
    assert policy.of("bill") == policy.for_all == Retention(others=3 * DAY)


async def test_parts_that_are_not_named_stay(store: Store) -> None:
    """Of two operators that change different parts, neither undoes the other."""
    for part in PARTS:
        await store.set_retention("mail", {part: DAY})
        await store.set_retention(FOR_ALL, {part: 2 * DAY})
    policy = await store.retention()
    assert policy.of("mail") == Retention(succeeded=DAY, others=DAY, keyed=DAY, logs=DAY)
    assert policy.for_all == Retention(succeeded=2 * DAY, others=2 * DAY, keyed=2 * DAY, logs=2 * DAY)


async def test_a_rule_of_which_all_is_taken_back_is_none(store: Store) -> None:
    await store.set_retention("mail", {"succeeded": NONE, "keyed": DAY})
    await store.set_retention("mail", {"succeeded": None})
    assert (await store.retention()).of("mail") == Retention(keyed=DAY)
    await store.set_retention("mail", dict.fromkeys(PARTS))
    policy = await store.retention()
    assert (policy.rules, policy.of("mail")) == ((), Retention())
    await store.set_retention(FOR_ALL, {"logs": DAY})
    await store.set_retention(FOR_ALL, {"logs": None})
    assert (await store.retention()).for_all.logs is None


@pytest.mark.parametrize(
    ("definition", "change", "field"),
    [
        ("mail", {"succeeded": timedelta(seconds=-1)}, "succeeded"),
        ("mail", {"others": HORIZON + timedelta(milliseconds=1)}, "others"),
        ("mail", {"keyed": timedelta(microseconds=1)}, "keyed"),
        ("mail", {"results": DAY}, "results"),
        ("no name", {"logs": DAY}, "definition"),
        (FOR_ALL, {"succeeded": None}, "succeeded"),
        (FOR_ALL, {"others": None, "logs": None}, "others"),
    ],
)
async def test_what_cannot_be_kept_is_refused_by_name(
    store: Store, definition: str, change: dict[str, timedelta | None], field: str
) -> None:
    before = await store.retention()
    with pytest.raises(InvalidInput) as refused:
        await store.set_retention(definition, change)
    assert refused.value.field == field
    assert await store.retention() == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tenure.retention SET succeeded_ms = -1",
        "UPDATE tenure.retention SET others_ms = NULL WHERE definition = ''",
    ],
)
async def test_the_database_takes_no_nonsense_by_hand(store: Store, backend: Backend, change: str) -> None:
    with pytest.raises(Refused):
        await backend.sql(change)
    assert (await store.retention()).for_all == Retention()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM tenure.retention",
        "UPDATE tenure.retention SET succeeded_ms = 9000000000000000000",
        """INSERT INTO tenure.retention (definition, log_ms, by, at)
           SELECT 'mail', 400000000000, by, at FROM tenure.retention""",
    ],
)
async def test_where_nobody_can_tell_how_long_nothing_can_be_asked_to_go(
    store: Store, backend: Backend, change: str
) -> None:
    """What was changed by hand is no reason to fall back to shorter times; to set it again mends it."""
    await store.set_retention(FOR_ALL, {"succeeded": 3000 * DAY})
    await backend.sql(change)
    with pytest.raises(StoreUnavailable, match=r"`retention`.*set it again"):
        await store.retention()
    times = dict.fromkeys(PARTS, DAY)
    await store.set_retention(FOR_ALL, times)
    await store.set_retention("mail", times)
    assert (await store.retention()).for_all.succeeded == DAY


async def test_each_definition_goes_by_its_own_times(store: Store, clock: Clock) -> None:
    """S0.72: in whatever queue, version and under whatever limits its jobs are."""
    mail, also_mail = await ended(store, "mail"), await ended(store, "mail", queue="slow", version=3)
    bill, memo = await ended(store, "bill"), await ended(store, "memo")
    own = {"mail": Retention(others=DAY), "bill": Retention(others=90 * DAY), "nobody": EVERYTHING}
    await clock.advance(DAY - seconds(1))
    assert (await store.prune(Retention(), own=own)).jobs == 0
    await clock.advance(seconds(2))
    assert (await store.prune(Retention(), own=own)).jobs == 2
    assert await left(store, mail, also_mail, bill, memo) == [False, False, True, True]
    await clock.advance(60 * DAY)
    assert (await store.prune(Retention(), own=own)).counts == {("memo", State.CANCELLED): 1}
    assert await left(store, bill, memo) == [True, False]


async def test_by_age_the_shortest_time_of_any_definition_counts(store: Store, clock: Clock) -> None:
    """Else a definition that keeps its jobs for an hour would keep them as long as the others."""
    job = await ended(store, "mail")
    await clock.advance(2 * DAY)
    assert (await store.prune(Retention(), by_age=True)).jobs == 0
    assert (await store.prune(Retention(), own={"mail": Retention(others=DAY)}, by_age=True)).jobs == 1
    assert await store.get(job) is None


async def test_a_job_with_a_key_may_be_kept_longer_as_a_whole(store: Store, clock: Clock) -> None:
    """S1.36: for so long its key finds it, with all that it has but its log lines, which may go earlier."""
    job = await enqueue_one(store, "mail", key="mine")
    [owned] = await claim(store)
    await store.record("a", [trail(owned, line(1))])
    await settle(store, [succeeded(owned)])
    own = {"mail": Retention(succeeded=NONE, keyed=90 * DAY, logs=DAY)}
    await clock.advance(89 * DAY)
    before = await record_of(store, job)
    assert (await store.prune(Retention(), own=own)).jobs == 0
    assert (await store.prune_logs(Retention(), own=own)).lines == 1
    assert await record_of(store, job) == before
    assert await store.logs(job) == []
    assert await enqueue_one(store, "mail", key="mine") == job
    await clock.advance(DAY + seconds(1))
    assert (await store.prune(Retention(), own=own)).jobs == 1
    assert await enqueue_one(store, "mail", key="mine") != job


async def test_log_lines_go_before_their_job(store: Store, backend: Backend, clock: Clock) -> None:
    """And nothing else of it."""
    mail, bill = await logged(store, "mail", "bill")
    own = {"bill": Retention(logs=3 * DAY)}
    before = [await record_of(store, job) for job in (mail, bill)]
    await clock.advance(DAY - seconds(1))
    assert (await store.prune_logs(Retention(logs=DAY), own=own)).lines == 0
    await clock.advance(seconds(1))
    assert (await store.prune_logs(Retention(logs=DAY), own=own)).lines == 2
    assert [len(await store.logs(job)) for job in (mail, bill)] == [0, 2]
    assert [await record_of(store, job) for job in (mail, bill)] == before
    await clock.advance(2 * DAY)
    assert (await store.prune_logs(Retention(logs=DAY), own=own)).lines == 2
    assert await count(backend, "tenure.log") == 0


async def test_without_a_time_of_their_own_log_lines_go_with_their_job(store: Store, clock: Clock) -> None:
    await logged(store, "mail")
    await clock.advance(3000 * DAY)
    assert (await store.prune_logs(EVERYTHING, own={"bill": Retention(logs=NONE)})).lines == 0


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING, State.QUEUED])
async def test_log_lines_of_what_has_not_finished_stay(store: Store, clock: Clock, state: State) -> None:
    """S0.72: however old they are."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.record("a", [trail(owned, line(1))])
    if state is State.CANCELLING:
        await store.cancel([job])
    if state is State.QUEUED:
        await store.hand_back("a", unstarted=[owned.lease], killed=[])
    await clock.advance(1000 * DAY)
    assert (await store.prune_logs(Retention(logs=NONE))).lines == 0
    assert len(await store.logs(job)) == 1


async def test_a_walk_over_log_lines_goes_from_job_to_job(store: Store, clock: Clock) -> None:
    """Those without lines are passed over; by age it ends where jobs are too young."""
    first = await logged(store, "mail", "bill", "memo")
    await ended(store, "mail")
    last = await logged(store, "mail")
    await clock.advance(seconds(1))
    at_once = Retention(logs=NONE)
    one = await store.prune_logs(at_once, limit=3)
    assert (one.lines, one.next) == (6, first[-1])
    two = await store.prune_logs(at_once, after=one.next, limit=3)
    assert (two.lines, two.next) == (2, None)
    assert [await store.logs(job) for job in (*first, *last)] == [[]] * 4
    await logged(store, "mail")
    await clock.advance(seconds(1))
    assert (await store.prune_logs(Retention(logs=2 * DAY), limit=1, by_age=True)).next is None
    assert (await store.prune_logs(at_once, definition="bill")).lines == 0
    assert (await store.prune_logs(at_once, definition="mail")).lines == 2


async def test_a_dry_run_counts_what_the_next_one_removes(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """By definition and state, and changes nothing."""
    await one_in_each_state(store)
    await ended(store, "bill")
    await logged(store, "mail")
    await clock.advance(seconds(1))
    tables = ("job", "job_state", "event", "attempt", "log", "result", "tag", "finished", "tally")
    before = [await count(backend, f"tenure.{table}") for table in tables]
    dry = await store.prune(EVERYTHING, dry=True)
    dry_lines = await store.prune_logs(Retention(logs=NONE), dry=True)
    assert [await count(backend, f"tenure.{table}") for table in tables] == before
    assert dry.counts[("bill", State.CANCELLED)] == 1
    assert dry.jobs == sum(dry.counts.values()) == 6
    assert await store.prune_logs(Retention(logs=NONE)) == dry_lines
    assert await store.prune(EVERYTHING) == dry
    assert (await store.prune(EVERYTHING, dry=True)).counts == {}


async def test_a_scope_narrows_what_goes(store: Store, clock: Clock) -> None:
    failed, buried, cancelled = [
        await job_in(store, state) for state in (State.FAILED, State.BURIED, State.CANCELLED)
    ]
    await clock.advance(DAY)
    later = await job_in(store, State.FAILED)
    cut = await store.now() - seconds(1)
    dead = PruneScope(states=DEAD_LETTERS, ended_before=cut)
    assert (await store.prune(EVERYTHING, scope=dead, dry=True)).jobs == 2
    named = PruneScope(jobs=[failed, later, cancelled, failed], states=DEAD_LETTERS, ended_before=cut)
    assert jobs_and_next(await store.prune(EVERYTHING, scope=named, limit=1)) == (1, None)
    assert await left(store, failed, buried, cancelled, later) == [False, True, True, True]
    assert (await store.prune(EVERYTHING, scope=PruneScope(definition="nobody"))).jobs == 0
    assert (await store.prune(EVERYTHING, scope=PruneScope(jobs=[]))).jobs == 0
    assert (await store.prune(EVERYTHING, scope=PruneScope(definition="buried"))).jobs == 1
    assert await left(store, failed, buried, cancelled, later) == [False, False, True, True]


@pytest.mark.parametrize("state", [state for state in State if not state.is_final])
async def test_a_job_that_is_named_goes_only_when_it_has_finished(
    store: Store, clock: Clock, state: State
) -> None:
    """S0.72: whoever names it."""
    job = await job_in(store, state)
    await clock.advance(1000 * DAY)
    assert (await store.prune(EVERYTHING, scope=PruneScope(jobs=[job]))).jobs == 0
    assert await store.get(job) is not None
