"""`tenure.testing.Context`: the real context, which remembers what a handler does with it."""

import asyncio
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

import tenure
from tenure import IdempotencyConflict, InvalidInput, InvalidJson, InvalidParams, State, Tenure, TenureError
from tenure.testing import Context
from tests.testing.shop_app import Order, Welcome, pack, place, ship, welcome


async def test_a_handler_is_called_like_any_function() -> None:
    ctx = Context(attempt=3)
    assert await welcome(Welcome("ada"), ctx) == {"sent": "ada", "attempt": 3}
    assert ctx.logged == [("info", "sending", {"to": "ada"})]
    assert [(one.fraction, one.message) for one in ctx.reported] == [(1.0, "sent")]


def test_a_field_of_a_log_line_that_is_no_json_is_shown_as_text_and_the_others_are_kept() -> None:
    ctx = Context()
    ctx.log.info("late", at=datetime(2026, 1, 31), pages=[1, 2], what=object)  # noqa: DTZ001
    assert ctx.logged == [
        ("info", "late", {"at": "2026-01-31 00:00:00", "pages": [1, 2], "what": "<class 'object'>"})
    ]


def test_events_children_and_measurements_are_remembered() -> None:
    ctx = Context()
    pack(Order(1, items=5), ctx)
    assert ctx.emitted == [("packed", {"items": 5})]
    place(Order(7), ctx)
    assert [(child.definition, child.params) for child in ctx.children] == [
        ("order.pack", {"number": 7, "items": 0}),
        ("order.pack", {"number": 7, "items": 1}),
    ]
    ctx.metrics.count("parcels", 2)
    assert [(one.labels, one.value) for one in ctx.measured] == [(("parcels",), 2.0)]


async def test_children_of_async_handlers_are_remembered_with_their_options() -> None:
    ctx = Context()
    await ship(Order(7), ctx)
    [child] = ctx.children
    assert child.params == {"to": "customer-7", "subject": "Welcome"}
    assert child.job.delay is not None
    assert (child.job.delay.total_seconds(), child.job.queue) == (60, "mail")


def test_it_is_a_context_for_type_checkers_and_at_run_time() -> None:
    ctx: tenure.Context = Context({"a": 1}, job_id=UUID(int=7), definition="a.job", queue="q", namespace="n")
    assert isinstance(ctx, tenure.Context)
    assert (ctx.params, ctx.job_id, ctx.definition, ctx.queue, ctx.namespace) == (
        {"a": 1},
        UUID(int=7),
        "a.job",
        "q",
        "n",
    )
    assert ctx.idempotency_key("charge") == Context(job_id=UUID(int=7)).idempotency_key("charge")


def test_a_test_says_whether_the_handler_is_to_stop() -> None:
    ctx = Context()
    assert not ctx.cancelled
    assert ctx.cancelled.block(3600) is False
    with pytest.raises(TenureError, match="for ever"):
        ctx.cancelled.block()
    ctx.cancel()
    assert ctx.cancelled
    with pytest.raises(asyncio.CancelledError):
        Context(cancelled=True).check_cancelled()


async def test_a_handler_that_waits_to_be_stopped_is_told() -> None:
    ctx = Context()
    waiting = asyncio.create_task(ctx.cancelled.wait())
    await asyncio.sleep(0)
    ctx.cancel()
    await waiting


@pytest.mark.parametrize(
    ("do", "refusal"),
    [
        (lambda ctx: ctx.progress(1.5), InvalidInput),
        (lambda ctx: ctx.progress(0.5, "a" * 1001), InvalidInput),
        (lambda ctx: ctx.emit("no name"), InvalidInput),
        (lambda ctx: ctx.emit("large", "a" * 70_000), InvalidJson),
        (lambda ctx: ctx.emit("object", object()), InvalidJson),
        (lambda ctx: ctx.enqueue_sync(welcome, {"tu": "ada"}), InvalidParams),
        (lambda ctx: ctx.enqueue_sync(welcome, Welcome("ada"), dellay=1), TypeError),
        (lambda ctx: ctx.enqueue_sync(welcome, Welcome("ada"), priority=99_999), InvalidInput),
        (lambda _: Context(attempt=0), InvalidInput),
    ],
)
def test_it_refuses_what_the_real_one_refuses(do: Any, refusal: type[Exception]) -> None:
    ctx = Context()
    with pytest.raises(refusal):
        do(ctx)
    assert not ctx.children
    assert not ctx.emitted
    assert not ctx.reported


def test_with_the_app_jobs_that_are_made_before_are_checked_as_well() -> None:
    other = Tenure()
    job = other.job("known")(lambda: None)
    ctx = Context(app=other)
    ctx.enqueue_many_sync([job.new_job()])
    with pytest.raises(InvalidInput):
        ctx.enqueue_many_sync([job.new_job(), welcome.new_job(Welcome("ada"))])
    assert [child.definition for child in ctx.children] == ["known"]


def test_what_is_enqueued_is_answered_as_a_store_would() -> None:
    ctx = Context()
    assert ctx.enqueue_sync(welcome, Welcome("ada")).state is State.QUEUED
    assert ctx.enqueue_sync(welcome, Welcome("ada"), delay=1).state is State.SCHEDULED
    assert ctx.enqueue_sync(welcome, Welcome("ada"), hold=True).state is State.CREATED
    first = ctx.enqueue_sync(welcome, Welcome("ada"), idempotency_key="k")
    second = ctx.enqueue_sync(welcome, Welcome("ada"), idempotency_key="k")
    assert (first.fresh, second.fresh, second.id) == (True, False, first.id)
    with pytest.raises(IdempotencyConflict):
        ctx.enqueue_sync(welcome, Welcome("grace"), idempotency_key="k")
    assert len(ctx.children) == 4


@pytest.mark.parametrize("given", [{"job_id": "7"}, {"fence": 0}, {"attempt": 0}])
def test_a_context_is_made_up_of_what_a_job_can_have(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        Context(**given)
