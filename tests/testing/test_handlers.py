"""How handlers run in a plain test, and what stands in for them."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from tenure import (
    Context,
    Retry,
    State,
    StoreForbidden,
    Tenure,
    TenureError,
    backoff,
)
from tenure.testing import Harness, harness
from tests.testing.shop_app import (
    Order,
    Welcome,
    app,
    pack,
    place,
    poll,
    probe,
    tenant,
    wait,
    welcome,
)


@pytest.fixture
def t() -> Iterator[Harness]:
    with harness(app) as entered:
        yield entered


def test_children_are_jobs_of_their_parent_and_run_in_the_same_drain(t: Harness) -> None:
    parent = t.enqueue(place, Order(1, items=3))
    assert t.drain() == 4
    assert [(job.parent, job.params["items"]) for job in t.jobs(pack)] == [
        (parent.id, 0),
        (parent.id, 1),
        (parent.id, 2),
    ]


def test_a_handler_that_is_tried_again_finds_its_children(t: Harness) -> None:
    t.replace(place, _place_and_fail)
    t.enqueue(place, Order(1))
    t.advance("1h")
    assert len(t.jobs(pack)) == 1


def _place_and_fail(ctx: Context) -> None:
    ctx.enqueue_sync(pack, Order(1))
    raise ConnectionError


def test_a_child_with_wrong_params_is_refused_in_the_handler(t: Harness) -> None:
    t.replace(place, lambda ctx: ctx.enqueue_sync(welcome, {"tu": "ada"}))
    t.enqueue(place, Order(1), max_attempts=1)
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert failed.error.message == "email.welcome@1: params/tu: is not known; params/to: is missing"
    t.assert_not_enqueued(welcome)


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
    t.replace(pack, lambda: asyncio.run(asyncio.sleep(0, "slept")))
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


def test_hooks_follow_what_they_follow() -> None:
    other = Tenure()
    called: list[str] = []

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


def test_a_handler_has_no_store_in_a_harness_either(t: Harness) -> None:
    """A worker would refuse it: a test that passes here must not fail there."""
    t.replace(place, lambda: str(welcome.enqueue_sync(Welcome("ada")).id))
    t.enqueue(place, Order(1), max_attempts=1)
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert failed.error.kind == StoreForbidden.__name__
    assert "ctx.enqueue" in failed.error.message
    t.assert_not_enqueued(welcome)


def test_a_result_that_is_no_json_fails_the_job(t: Harness) -> None:
    t.replace(place, lambda: {1, 2})
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


def test_a_handler_cannot_drain(t: Harness) -> None:
    t.replace(place, lambda: {"ran": t.drain()})
    t.enqueue(place, Order(1))
    t.drain()
    [failed] = t.jobs(place)
    assert failed.error is not None
    assert "cannot drain" in failed.error.message
