"""The harness in async tests: async handlers run on the loop of the test, plain ones beside it."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from tenure import Context, State, StoreForbidden, Tenure, TenureError
from tenure.testing import AsyncHarness, Endless, harness
from tests.testing.shop_app import (
    Order,
    Welcome,
    again,
    alone,
    app,
    pack,
    place,
    poll,
    sign_up,
    sign_up_later,
    sort,
    tenant,
    wait,
    welcome,
)
from tests.until import until


@pytest.fixture
async def t() -> AsyncIterator[AsyncHarness]:
    async with harness(app) as entered:
        yield entered


async def test_code_of_the_app_enqueues_into_the_harness(t: AsyncHarness) -> None:
    await sign_up_later("ada")
    sign_up("grace")  # plain code in a running loop, as everywhere
    assert await t.drain() == 1
    assert await t.advance("1h") == 1
    assert [(job.params["to"], job.result["attempt"]) for job in t.jobs(welcome)] == [
        ("ada", 1),
        ("grace", 1),
    ]


async def test_retries_wait_for_the_clock(t: AsyncHarness) -> None:
    t.fail_next(welcome, ConnectionError)
    job = await t.enqueue(welcome, Welcome("ada"))
    assert await t.drain() == 1
    assert await t.drain() == 0
    assert await t.advance("2s") == 1
    assert await job.result() == {"sent": "ada", "attempt": 2}


async def test_an_async_handler_runs_on_the_loop_of_the_test(t: AsyncHarness) -> None:
    """So it may use what the test has made there: a client, a server, a lock."""
    opened = asyncio.Event()
    waiting = asyncio.Event()

    async def meet(ctx: Context) -> None:
        waiting.set()
        await opened.wait()

    t.replace(wait, meet)
    job = await t.enqueue(wait)
    draining = asyncio.create_task(t.drain())
    await waiting.wait()
    assert t.jobs(state="running")[0].id == job.id
    opened.set()
    assert await draining == 1
    assert await job.status() is State.SUCCEEDED


async def test_an_async_handler_of_params_alone_does_too(t: AsyncHarness) -> None:
    loops = []

    @app_with_loops.job("noted")
    async def noted(params: Welcome) -> None:
        loops.append(asyncio.get_running_loop())

    async with harness(app_with_loops) as other:
        await noted.enqueue(Welcome("ada"))
        await other.drain()
    assert loops == [asyncio.get_running_loop()]
    await t.enqueue(alone, Welcome("ada"))
    assert await t.drain() == 1


app_with_loops = Tenure()


async def test_a_plain_handler_runs_in_a_thread_and_does_not_block_the_loop(t: AsyncHarness) -> None:
    loop, is_met = asyncio.get_running_loop(), threading.Event()

    def meet(params: Order) -> bool:
        loop.call_soon_threadsafe(is_met.set)  # only a loop that runs does this
        return is_met.wait(30)

    t.replace(pack, meet)
    job = await t.enqueue(pack, Order(1))
    await t.drain()
    assert t.job(job).result is True


async def test_a_plain_handler_has_the_context_of_the_test(t: AsyncHarness) -> None:
    tenant.set("acme")
    job = await t.enqueue(pack, Order(1))
    await t.drain()
    assert await job.result() == {"thread": False, "tenant": "acme"}


async def test_children_of_a_plain_handler_are_enqueued(t: AsyncHarness) -> None:
    await t.enqueue(place, Order(1, items=3))
    assert await t.drain() == 4


async def test_slots_run_at_once() -> None:
    other = Tenure()
    met = asyncio.Barrier(3)

    @other.job("meet")
    async def meet(ctx: Context) -> None:
        await met.wait()

    async with harness(other, slots=3) as t:
        for _ in range(3):
            await meet.enqueue()
        assert await t.drain() == 3


async def test_limits_hold_among_slots() -> None:
    other = Tenure()
    running: list[int] = []

    @other.job("narrow", concurrency=2)
    async def narrow(ctx: Context) -> None:
        running.append(len(h.jobs(narrow, state="running")))
        await asyncio.sleep(0)

    async with harness(other, slots=5) as h:
        for _ in range(5):
            await narrow.enqueue()
        assert await h.drain() == 5
    assert max(running) == 2


async def test_a_job_is_cancelled_while_it_runs(t: AsyncHarness) -> None:
    job = await t.enqueue(wait)
    draining = asyncio.create_task(t.drain())
    await until(lambda: bool(t.jobs(state="running")))
    assert await job.cancel() is State.CANCELLING
    assert await draining == 1
    assert await job.status() is State.CANCELLED


async def test_a_plain_handler_that_is_cancelled_ends_when_it_looks(t: AsyncHarness) -> None:
    job = await t.enqueue(sort)
    draining = asyncio.create_task(t.drain())
    await until(lambda: bool(t.jobs(state="running")))
    await job.cancel()
    await draining
    assert await job.status() is State.CANCELLED


async def test_a_plain_handler_may_wait_for_a_request_to_stop(t: AsyncHarness) -> None:
    t.replace(pack, lambda ctx: ctx.cancelled.block())
    job = await t.enqueue(pack, Order(1))
    draining = asyncio.create_task(t.drain())
    await until(lambda: bool(t.jobs(state="running")))
    await job.cancel()
    await draining
    assert t.job(job).result is True


async def test_a_handler_has_no_store(t: AsyncHarness) -> None:
    async def enqueue(params: Order) -> None:
        with pytest.raises(StoreForbidden):
            await welcome.enqueue(Welcome("ada"))
        with pytest.raises(StoreForbidden):
            await asyncio.to_thread(sign_up, "ada")
        with pytest.raises(TenureError, match="cannot drain"):
            await t.drain()

    t.replace(place, enqueue)
    job = await t.enqueue(place, Order(1))
    await t.drain()
    assert await job.status() is State.SUCCEEDED
    t.assert_not_enqueued(welcome)


async def test_a_drain_that_is_given_up_leaves_the_job_to_the_next(t: AsyncHarness) -> None:
    """As a worker that is killed: nothing of the attempt is on record, and its lease runs out."""
    job = await t.enqueue(wait)
    draining = asyncio.create_task(t.drain())
    await until(lambda: bool(t.jobs(state="running")))
    draining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await draining
    assert await job.status() is State.RUNNING
    t.replace(wait, lambda: "done")
    assert await t.drain() == 0
    assert await t.advance("30s") == 1
    assert t.job(job).attempt == 2


async def test_one_drain_at_a_time(t: AsyncHarness) -> None:
    job = await t.enqueue(wait)
    draining = asyncio.create_task(t.drain())
    await until(lambda: bool(t.jobs(state="running")))
    with pytest.raises(TenureError, match="at work"):
        await t.advance("1h")
    await job.cancel()
    assert await draining == 1


async def test_jobs_without_an_end_are_named(t: AsyncHarness) -> None:
    await t.enqueue(again)
    with pytest.raises(Endless, match=r"order\.again@1 goes on"):
        await t.drain(rounds=10)


async def test_an_error_that_no_future_carries_ends_the_attempt(t: AsyncHarness) -> None:
    def stop(params: Order) -> None:
        raise StopIteration("this way")

    t.replace(place, stop)
    await t.enqueue(place, Order(1), max_attempts=1)
    await t.drain()
    [failed] = t.jobs(place)
    assert failed.state is State.FAILED


async def test_async_hooks_run_on_the_loop_too() -> None:
    other, loops = Tenure(), []
    job = other.job("hooked")(lambda: None)

    @job.on_start
    async def started(ctx: Context) -> None:
        loops.append(asyncio.get_running_loop())

    @job.on_success
    async def succeeded(ctx: Context) -> None:
        loops.append(asyncio.get_running_loop())

    async with harness(other) as t:
        await job.enqueue()
        await t.drain()
    assert loops == [asyncio.get_running_loop()] * 2


async def test_a_snoozed_job_comes_back(t: AsyncHarness) -> None:
    job = await t.enqueue(poll)
    assert await t.advance("20m") == 3
    assert await job.result() == "in stock"
