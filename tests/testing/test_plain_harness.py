"""The harness in plain tests: the store, the steps and the clock are real, and only processes are missing."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tenure import (
    Context,
    IdempotencyConflict,
    InvalidInput,
    InvalidParams,
    JobFailed,
    JobNotFound,
    Retry,
    State,
    StoreForbidden,
    Tenure,
    TenureError,
    backoff,
)
from tenure.testing import Endless, Harness, harness
from tests.testing.shop import (
    Order,
    Welcome,
    again,
    app,
    pack,
    place,
    poll,
    probe,
    ship,
    sign_up,
    tenant,
    wait,
    welcome,
)


@pytest.fixture
def t() -> Iterator[Harness]:
    with harness(app) as entered:
        yield entered


def test_code_of_the_app_enqueues_into_the_harness(t: Harness) -> None:
    sign_up("ada")
    [job] = t.assert_enqueued(welcome, {"to": "ada"}, queue="mail")
    assert (job.state, job.params, job.idempotency_key) == (
        State.QUEUED,
        {"to": "ada", "subject": "Welcome"},
        "signup-ada",
    )
    assert t.drain() == 1
    [job] = t.jobs(welcome, state="succeeded")
    assert job.result == {"sent": "ada", "attempt": 1}
    assert job.progress is not None
    assert job.progress.message == "sent"


def test_the_app_has_its_own_database_again_afterwards(tmp_path: Path) -> None:
    own = Tenure(f"sqlite:///{tmp_path}/own.db")
    job = own.job("a.job")(lambda: None)
    with own:
        first = job.enqueue_sync()
        with harness(own) as t:
            with pytest.raises(JobNotFound):
                first.get_sync()
            second = job.enqueue_sync()
            assert t.drain() == 1
        assert first.status_sync() is State.QUEUED
        with pytest.raises(JobNotFound):
            second.get_sync()
    assert not Path("no-test-may-make-this-file.db").exists()


def test_its_file_and_its_threads_are_gone_afterwards() -> None:
    before = threading.active_count()
    with harness(app) as t:
        t.enqueue(welcome, Welcome("ada"))
        t.drain()
        folder = t._folder
        assert folder.exists()
    assert not folder.exists()
    assert threading.active_count() == before


def test_a_failed_attempt_is_tried_again_when_its_backoff_is_over(t: Harness) -> None:
    t.fail_next(welcome, ConnectionError("no mail today"), times=2)
    job = t.enqueue(welcome, Welcome("ada"))
    began = t.now
    assert t.drain() == 1
    [waiting] = t.jobs(state=State.RETRYING)
    assert waiting.error is not None
    assert (waiting.error.kind, waiting.due_at) == ("ConnectionError", began + timedelta(seconds=2))
    assert t.advance(1.9) == 0
    assert t.advance(timedelta(seconds=0.1)) == 1
    assert t.advance("4s") == 1
    assert job.result_sync() == {"sent": "ada", "attempt": 3}
    assert t.now == began + timedelta(seconds=6)


def test_a_job_whose_attempts_are_used_up_is_a_dead_letter(t: Harness) -> None:
    t.fail_next(welcome, ConnectionError("no mail today"), times=3)
    job = t.enqueue("email.welcome", {"to": "ada"})
    assert t.advance("1h") == 3
    [dead] = t.jobs(welcome, state="failed")
    assert dead.attempt == 3
    with pytest.raises(JobFailed, match="no mail today"):
        job.result_sync()
    assert [event.target for event in job.events_sync()].count(State.RETRYING) == 2


def test_a_fatal_error_is_not_tried_again(t: Harness) -> None:
    t.enqueue(place, Order(-1))
    assert t.advance("1d") == 1
    [dead] = t.jobs(place)
    assert dead.error is not None
    assert (dead.state, dead.error.kind) == (State.FAILED, "Fatal")


def test_time_goes_from_one_due_job_to_the_next(t: Harness) -> None:
    """Each runs at its own time, as it would by the hour: what a job enqueues counts from then."""
    began = t.now
    t.enqueue(ship, Order(7), delay=3600)
    t.enqueue(welcome, Welcome("ada"), run_at=began + timedelta(minutes=30))
    assert t.advance("29m") == 0
    assert t.advance("1m") == 1
    assert [job.state for job in t.jobs(welcome)] == [State.SUCCEEDED]
    assert t.advance("30m") == 1
    [_, child] = t.jobs(welcome)
    assert (child.params["to"], child.state, child.due_at) == (
        "customer-7",
        State.SCHEDULED,
        began + timedelta(minutes=61),
    )
    assert t.advance("2m") == 1
    assert t.now == began + timedelta(minutes=62)


def test_a_job_that_snoozes_comes_back_without_using_up_an_attempt(t: Harness) -> None:
    job = t.enqueue(poll)
    assert t.drain() == 1
    assert t.advance("10m") == 1
    assert t.advance("10m") == 1
    assert job.result_sync() == "in stock"
    assert t.job(job).attempt == 1


def test_children_are_jobs_of_their_parent_and_run_in_the_same_drain(t: Harness) -> None:
    parent = t.enqueue(place, Order(1, items=3))
    assert t.drain() == 4
    assert [(job.parent, job.params["items"]) for job in t.jobs(pack)] == [
        (parent.id, 0),
        (parent.id, 1),
        (parent.id, 2),
    ]


def test_a_handler_that_is_tried_again_finds_its_children(t: Harness) -> None:
    t.replace(place, lambda params, ctx: _place_and_fail(ctx))
    t.enqueue(place, Order(1))
    t.advance("1h")
    assert len(t.jobs(pack)) == 1


def _place_and_fail(ctx: Context) -> None:
    ctx.enqueue_sync(pack, Order(1))
    raise ConnectionError


def test_plain_handlers_run_in_the_thread_of_the_test_with_its_context(t: Harness) -> None:
    """Connections and transactions of frameworks belong to a thread."""
    token = tenant.set("acme")
    try:
        t.enqueue(pack, Order(1))
        t.drain()
    finally:
        tenant.reset(token)
    assert t.jobs(pack)[0].result == {"thread": True, "tenant": "acme"}


def test_a_plain_handler_may_run_a_loop_of_its_own(t: Harness) -> None:
    t.replace(pack, lambda params: asyncio.run(asyncio.sleep(0, "slept")))
    t.enqueue(pack, Order(1))
    t.drain()
    assert t.jobs(pack)[0].result == "slept"


def test_the_loop_of_async_handlers_is_one_and_the_same(t: Harness) -> None:
    loops = []

    async def note(ctx: Context) -> None:
        loops.append(asyncio.get_running_loop())

    t.replace(poll, note)
    for _ in range(2):
        t.enqueue(poll)
    t.drain()
    assert loops[0] is loops[1]


def test_priorities_decide_which_job_is_first(t: Harness) -> None:
    for name, priority in (("low", 0), ("high", 5)):
        t.enqueue(welcome, Welcome(name), priority=priority)
    ran: list[str] = []
    t.replace(welcome, lambda params: ran.append(params.to))
    t.drain()
    assert ran == ["high", "low"]


def test_a_limit_keeps_jobs_of_one_key_apart(t: Harness) -> None:
    """With several slots, two orders are claimed together, and never two jobs of one order."""
    together = _jobs_that_run_together(slots=4)
    assert max(together) == 2


def test_without_the_key_they_are_claimed_together() -> None:
    other = Tenure()
    seen: list[int] = []

    @other.job("free")
    def free(params: dict[str, int], ctx: Context) -> None:
        seen.append(len(t.jobs(free, state="running")))

    with harness(other, slots=4) as t:
        for n in range(4):
            free.enqueue_sync({"n": n})
        t.drain()
    assert max(seen) == 4


def _jobs_that_run_together(slots: int) -> list[int]:
    other, seen = Tenure(), []

    @other.job("order.pack", concurrency=1, concurrency_key="number")
    def pack_one(params: Order, ctx: Context) -> None:
        seen.append(len(t.jobs(pack_one, state="running")))

    with harness(other, slots=slots) as t:
        for number in (1, 1, 2, 2):
            pack_one.enqueue_sync(Order(number))
        assert t.drain() == 4
    return seen


def test_a_key_makes_a_second_request_the_first_job(t: Harness) -> None:
    assert sign_up("ada") == sign_up("ada")
    t.assert_enqueued(welcome, times=1)
    with pytest.raises(IdempotencyConflict):
        welcome.enqueue_sync(Welcome("grace"), idempotency_key="signup-ada")


def test_wrong_params_are_refused_as_ever(t: Harness) -> None:
    with pytest.raises(InvalidParams, match="params/tu: is not known"):
        t.enqueue(welcome, {"tu": "ada"})
    assert t.jobs() == []


def test_hooks_follow_what_they_follow(t: Harness) -> None:
    other, called = Tenure(), []

    @other.job("hooked", max_attempts=2, retry=backoff(base=1))
    def hooked() -> None: ...

    for name in ("on_start", "on_retry", "on_success", "on_fail", "on_end"):
        getattr(hooked, name)(_noting(called, name))
    with harness(other) as h:
        h.fail_next(hooked, ValueError("first"))
        hooked.enqueue_sync()
        h.advance("1m")
        assert called == ["on_start", "on_retry first", "on_start", "on_success", "on_end"]
        called.clear()
        h.cancel(hooked.enqueue_sync(delay=60))
        h.drain()
        assert called == ["on_end"]


def _noting(called: list[str], name: str) -> Callable[[Context, Any], None]:
    def note(ctx: Context, error: Any) -> None:
        called.append(f"{name} {error.message}" if error else name)

    return note


def test_a_hook_that_fails_is_an_event_of_the_job() -> None:
    other = Tenure()
    job = other.job("hooked")(lambda: None)

    @job.on_success
    async def fail(ctx: Context) -> None:
        raise ValueError("the hook")

    with harness(other) as t:
        handle = job.enqueue_sync()
        t.drain()
        assert handle.status_sync() is State.SUCCEEDED
        assert "hook_failed" in [event.type for event in handle.events_sync()]


def test_a_running_job_that_is_cancelled_knows_at_once(t: Harness) -> None:
    seen = []

    def pack_until_cancelled(params: Order, ctx: Context) -> None:
        seen.append(bool(ctx.cancelled))
        assert t.cancel(ctx.job_id) is State.CANCELLING
        seen.append(ctx.cancelled.block(3600))
        ctx.check_cancelled()

    t.replace(pack, pack_until_cancelled)
    t.enqueue(pack, Order(1))
    assert t.drain() == 1
    assert seen == [False, True]
    assert t.jobs(pack)[0].state is State.CANCELLED


def test_an_async_handler_is_cancelled_like_any_task(t: Harness) -> None:
    async def cancel_myself(ctx: Context) -> None:
        t.cancel(ctx.job_id)
        await asyncio.Event().wait()

    t.replace(wait, cancel_myself)
    job = t.enqueue(wait)
    t.drain()
    assert job.status_sync() is State.CANCELLED


def test_waiting_for_a_request_to_stop_takes_no_time(t: Harness) -> None:
    t.replace(pack, lambda params, ctx: ctx.cancelled.block(86_400))
    t.enqueue(pack, Order(1))
    t.drain()
    assert t.jobs(pack)[0].result is False


def test_a_handler_has_no_store_in_a_harness_either(t: Harness) -> None:
    """A worker would refuse it: a test that passes here must not fail there."""
    t.replace(place, lambda params: str(welcome.enqueue_sync(Welcome("ada")).id))
    t.enqueue(place, Order(1), max_attempts=1)
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert failed.error.kind == StoreForbidden.__name__
    assert "ctx.enqueue" in failed.error.message
    t.assert_not_enqueued(welcome)


def test_a_result_that_is_no_json_fails_the_job(t: Harness) -> None:
    t.replace(place, lambda params: object())
    t.enqueue(place, Order(1))
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert failed.error.kind == "ResultNotJson"


def test_a_program_is_not_started_and_a_function_may_stand_in(t: Harness) -> None:
    job = t.enqueue(probe, Order(1))
    with pytest.raises(TenureError, match=r"video.probe@1 is a program.*replace\(\)"):
        t.drain()
    assert job.status_sync() is State.QUEUED
    t.replace(probe, lambda params: {"frames": params.items})
    assert t.drain() == 1
    assert job.result_sync() == {"frames": 2}


def test_a_program_may_be_made_to_fail(t: Harness) -> None:
    t.fail_next(probe, Retry("busy", after=5))
    t.replace(probe, lambda: "probed")
    t.enqueue(probe, Order(1))
    assert (t.drain(), t.advance("5s")) == (1, 1)


def test_a_mock_may_stand_in(t: Harness) -> None:
    stand_in = Mock(return_value=7)
    t.replace(place, stand_in)
    t.enqueue(place, Order(3))
    t.drain()
    assert t.jobs(place)[0].result == 7
    assert stand_in.call_args.args[0] == Order(3)


def test_jobs_without_an_end_are_named(t: Harness) -> None:
    t.enqueue(welcome, Welcome("ada"))
    t.enqueue(again)
    with pytest.raises(Endless, match=r"after 20 rounds.*order\.again@1 goes on, with 1\d attempts"):
        t.drain(rounds=20)


def test_what_a_handler_leaves_of_time_is_seen_step_by_step(t: Harness) -> None:
    """A job that snoozes for a minute runs sixty times an hour, and not once."""
    ran: list[datetime] = []

    def snooze(ctx: Context) -> None:
        ran.append(t.now)
        raise Retry(after=60)

    t.replace(poll, snooze)
    t.enqueue(poll, max_attempts=60)
    assert t.advance("59m") == 60
    assert {after - before for before, after in zip(ran, ran[1:], strict=False)} == {timedelta(minutes=1)}


def test_the_clock_may_begin_anywhere() -> None:
    with harness(app, at=datetime(2030, 1, 1, tzinfo=UTC)) as t:
        t.enqueue(welcome, Welcome("ada"))
        t.advance("36h")
        assert t.now == datetime(2030, 1, 2, 12, tzinfo=UTC)
        assert t.jobs()[0].created_at == datetime(2030, 1, 1, tzinfo=UTC)


def test_a_job_that_was_interrupted_is_taken_back_when_its_lease_ends(t: Harness) -> None:
    def interrupted(params: Order) -> None:
        raise KeyboardInterrupt

    t.replace(pack, interrupted)
    job = t.enqueue(pack, Order(1))
    with pytest.raises(KeyboardInterrupt):
        t.drain()
    assert job.status_sync() is State.RUNNING
    t.replace(pack, lambda: "packed")
    assert t.drain() == 0
    assert t.advance("30s") == 1
    assert (job.result_sync(), t.job(job).attempt) == ("packed", 2)


def test_an_app_that_closes_its_database_finds_its_jobs_again(t: Harness) -> None:
    job = t.enqueue(welcome, Welcome("ada"))
    app.close_sync()
    assert t.drain() == 1
    assert job.status_sync() is State.SUCCEEDED


def test_a_definition_that_is_added_later_runs_too() -> None:
    other = Tenure()
    with harness(other) as t:
        assert t.drain() == 0
        late = other.job("late")(lambda: "run")
        job = late.enqueue_sync(queue="night")
        assert t.drain() == 1
        assert job.result_sync() == "run"


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda t: t.advance("1 hour"), "90s, 15m, 2h or 7d"),
        (lambda t: t.advance(-1), "by: is -1 day"),
        (lambda t: t.jobs(state="done"), "give one of created, scheduled"),
        (lambda t: t.enqueue("email.welcom"), "email.welcom is not known"),
        (lambda t: t.fail_next(Tenure().job("other")(lambda: None)), "other is of another app"),
        (lambda t: t.fail_next(sign_up), "give a job's function, or its key"),
        (lambda t: t.fail_next(welcome, "no"), "error: is 'no'"),
        (lambda t: t.fail_next(welcome, times=0), "times: is 0"),
        (lambda t: t.drain(rounds=0), "rounds: is 0"),
        (lambda t: harness(app, slots=0), "slots: is 0"),
        (lambda t: harness(app, at=datetime(2030, 1, 1)), "at: has no time zone"),  # noqa: DTZ001
    ],
)
def test_a_mistake_in_a_test_is_named(t: Harness, mistake: Callable[[Harness], object], said: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        mistake(t)
    assert said in str(raised.value)


def test_what_is_no_app_is_refused() -> None:
    with pytest.raises(TypeError, match="takes an app"):
        harness(welcome)  # type: ignore[arg-type]


def test_an_app_is_in_one_harness_at_a_time(t: Harness) -> None:
    with pytest.raises(TenureError, match="in a harness already"), harness(app):
        pass
    t.enqueue(welcome, Welcome("ada"))
    assert t.drain() == 1


def test_a_handler_cannot_drain(t: Harness) -> None:
    t.replace(place, lambda params: t.drain())
    t.enqueue(place, Order(1))
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert "cannot drain" in failed.error.message


async def test_in_a_running_loop_the_plain_form_says_which_to_use() -> None:
    with harness(app) as t, pytest.raises(TenureError, match="async with harness"):
        t.drain()
