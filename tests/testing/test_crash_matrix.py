"""Handlers that are crashed before and after all that they put on record, each time from an empty store."""

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest

from tenure import Context, InvalidInput, Tenure, TenureError
from tenure.testing import CrashMatrix, crash_matrix


class World:
    """What handlers have done outside."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.app = Tenure()

    def do(self, what: Any) -> Any:
        self.done.append(what)
        return what

    def matrix(self, job: Any, params: Any = None, **options: Any) -> CrashMatrix:
        return crash_matrix(self.app, job, params, self.done, **options)


@pytest.fixture
def world() -> World:
    return World()


def wrong(matrix: CrashMatrix) -> list[tuple[str, str, list[str]]]:
    return [(run.side, run.what, run.problems) for run in matrix.dirty]


def test_an_effect_outside_of_all_steps_is_found(world: World) -> None:
    """The handler is run again from the top, and nothing knows that it was there before."""

    @world.app.job("pay")
    async def pay(params: dict[str, int], ctx: Context) -> None:
        await ctx.step("reserve", world.do, "reserved")
        world.do(f"charged {params['order']}")

    matrix = world.matrix(pay, {"order": 7})
    assert not matrix.clean
    assert wrong(matrix) == [
        ("before", "step reserve", ["TWICE 'reserved'"]),
        ("before", "returned", ["TWICE 'charged 7'"]),
    ]
    assert [run.starts for run in matrix.runs] == [2, 2, 2, 1]
    assert "1  before  step reserve       2  TWICE 'reserved'" in str(matrix)
    assert "2  after   returned           1  ok" in str(matrix)
    assert "without a crash: 'reserved', 'charged 7'" in str(matrix)
    assert repr(matrix).startswith(
        "<crash matrix of pay, 2 of 4 crashes not clean: before step reserve: TWICE"
    )


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_a_handler_that_announces_its_effects_is_clean(world: World, kind: str) -> None:
    """S0.7, S3.65: the matrix answers what is in doubt by what it saw, as somebody who looks would."""

    @world.app.job("async")
    async def asynchronous(ctx: Context) -> Any:
        paid = await ctx.once("charge", world.do, {"charged": 7})
        await ctx.sleep(3600)
        ctx.state["paid"] = paid
        await ctx.checkpoint()
        answer = await ctx.wait_for("approved", timeout=60)
        await ctx.enqueue(child, answer)
        return [paid, answer]

    @world.app.job("plain")
    def plain(ctx: Context) -> Any:
        paid = ctx.once_sync("charge", world.do, {"charged": 7})
        ctx.sleep_sync(3600)
        ctx.state["paid"] = paid
        ctx.checkpoint_sync()
        answer = ctx.wait_for_sync("approved", timeout=60)
        ctx.enqueue_sync(child, answer)
        return [paid, answer]

    @world.app.job("child")
    def child(params: Any) -> None:
        world.do(params)

    matrix = world.matrix(kind, signals={"approved": {"by": "ada"}})
    assert matrix.clean, matrix
    assert [run.what for run in matrix.runs[::2]] == [
        "once charge: intended",
        "once charge: done",
        "sleep: begins",
        "sleep: over",
        "checkpoint",
        "wait:approved: begins",
        "checkpoint",
        "wait:approved: over",
        "enqueue child",
        "returned",
    ]
    assert matrix.result == [{"charged": 7}, {"by": "ada"}]
    assert sorted(map(str, matrix.expected)) == ["{'by': 'ada'}", "{'charged': 7}"]


@pytest.mark.parametrize("in_doubt", ["ask", "retry", "skip"])
def test_what_a_handler_chooses_when_in_doubt_shows(world: World, in_doubt: Any) -> None:
    @world.app.job("pay")
    async def pay(ctx: Context) -> str:
        with suppress(TenureError):  # InDoubt, where it skips
            await ctx.once("charge", world.do, "charged", in_doubt=in_doubt)
        return "ended"

    found = {
        "ask": [],
        "retry": [("before", "once charge: done", ["TWICE 'charged'"])],
        "skip": [("after", "once charge: intended", ["NEVER 'charged'"])],
    }
    assert wrong(world.matrix(pay)) == found[in_doubt]


def test_progress_that_is_only_in_memory_is_found_by_the_result(world: World) -> None:
    """Its sum begins anew, and the page that it has counted is not counted again."""

    @world.app.job("sum")
    async def add_up(ctx: Context) -> int:
        total = 0
        await ctx.recall()
        while (page := ctx.state.get("page", 1)) <= 3:
            total += page
            ctx.state["page"] = page + 1
            await ctx.checkpoint()
        return total

    matrix = world.matrix(add_up)
    assert ("after", "checkpoint", ["RESULT 5"]) in wrong(matrix)
    assert world.matrix(add_up, same_result=False).clean


def test_an_attempt_too_few_is_found(world: World) -> None:
    @world.app.job("last", max_attempts=1)
    async def last(ctx: Context) -> None:
        await ctx.step("say", world.do, "said")
        await ctx.step("more", world.do, "more")

    first = world.matrix(last).runs[0]
    assert first.problems[0] == "NEVER 'more'"
    assert first.problems[1].startswith("the job is failed, by ")


def test_what_unwinds_after_a_crash_is_not_counted(world: World) -> None:
    """A process that is killed runs no `finally`; nor does what it had begun beside go on."""

    @world.app.job("async")
    async def asynchronous(ctx: Context) -> None:
        async def beside() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                world.do("beside")

        task = asyncio.create_task(beside())
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(ctx.step("one", str, 1))
                tasks.create_task(ctx.step("two", str, 2))
            await asyncio.gather(ctx.step("three", str, 3), asyncio.to_thread(ctx.checkpoint_sync))
        finally:
            world.do("finally")
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @world.app.job("plain")
    def plain(ctx: Context) -> None:
        try:
            ctx.step_sync("one", str, 1)
            thread = threading.Thread(target=ctx.checkpoint_sync)
            thread.start()
            thread.join()
        except BaseException:
            world.do("caught")
            raise

    matrix = world.matrix("async")
    assert {run.what for run in matrix.dirty} == {"returned"}, matrix  # `finally` has run before that
    assert world.matrix("plain").clean


def test_each_crash_ends_a_process(world: World) -> None:
    """The next attempt begins in another one, with its hooks; after the last frame there is none."""
    lives: list[list[str]] = []

    @world.app.on_process_start
    async def start() -> None:
        lives[-1].append("start")

    @world.app.on_process_stop
    def stop() -> None:
        lives[-1].append("stop")

    @world.app.job("one")
    async def one(ctx: Context) -> None:
        await ctx.once("say", world.do, "said")

    matrix = world.matrix(one, prepare=lambda: lives.append([]))
    assert matrix.clean, matrix
    once, twice = ["start", "stop"], ["start", "stop", "start", "stop"]
    assert lives == [once, once, twice, twice, twice, twice, twice, once]


def test_schedules_do_not_fire_in_between(world: World) -> None:
    """The job sleeps for a week, and another one that is due each minute is none of its business."""

    @world.app.job("often")
    def often() -> None:
        world.do("fired")

    often.schedule("often", every=60)

    @world.app.job("sleeper")
    async def sleeper(ctx: Context) -> None:
        await ctx.sleep(7 * 86400)
        await ctx.once("say", world.do, "said")

    assert world.matrix(sleeper).clean


def test_a_job_that_fails_by_itself_is_no_matter_for_a_matrix(world: World) -> None:
    @world.app.job("fails", max_attempts=1)
    async def fails(ctx: Context) -> None:
        await ctx.step("say", world.do, "said")
        raise LookupError("no such order")

    with pytest.raises(
        TenureError,
        match=r"(?s)fails does not succeed, without any crash: it ended failed, by LookupError: "
        r"no such order.*raise LookupError",
    ):
        world.matrix(fails)


def test_a_signal_that_nobody_sends_is_named(world: World) -> None:
    @world.app.job("ask")
    async def ask(ctx: Context) -> None:
        await ctx.wait_for("approved")

    with pytest.raises(
        TenureError, match=r"waits for the signal 'approved'.* give signals=\{'approved': …\}"
    ):
        world.matrix(ask)


def test_a_function_that_raises_leaves_a_doubt_that_the_test_settles(world: World) -> None:
    @world.app.job("pay")
    async def pay(ctx: Context) -> None:
        def charge() -> None:
            world.do("charged")
            raise TimeoutError("no answer from the bank")

        await ctx.once("charge", charge)

    with pytest.raises(TenureError, match="cannot know whether 'charge' has happened: give happened="):
        world.matrix(pay)
    looked = world.matrix(pay, happened=lambda _: "charged" in world.done, prepare=world.done.clear)
    assert looked.clean, looked
    assert ("after", "once charge: intended", ["NEVER 'charged'"]) in wrong(
        world.matrix(pay, happened=lambda _: True)  # said without looking
    )


def test_what_differs_each_time_is_told_apart_from_what_a_crash_does(world: World) -> None:
    remembered: set[str] = set()

    @world.app.job("counts")
    async def counts(ctx: Context) -> None:
        await ctx.once("say", world.do, len(world.done))

    @world.app.job("remembers")
    async def remembers(ctx: Context) -> None:
        key = ctx.idempotency_key("charge")
        if key not in remembered:
            await ctx.step("charge", world.do, "charged")
            remembered.add(key)

    with pytest.raises(TenureError, match=r"other effects each time.*leave out what differs"):
        world.matrix(counts)
    with pytest.raises(TenureError, match=r"other effects each time.*have `prepare` begin anew"):
        world.matrix(remembers)
    charges: dict[str, int] = {}

    @world.app.job("keyed")
    async def keyed(ctx: Context) -> None:
        await ctx.step("charge", charges.__setitem__, ctx.idempotency_key("charge"), 7)

    matrix = crash_matrix(world.app, keyed, None, lambda: charges, prepare=charges.clear)
    assert matrix.clean, matrix  # the other side knows the key, so that twice is once


def test_a_matrix_is_bounded_and_says_what_it_takes(world: World) -> None:
    @world.app.job("long")
    async def long(ctx: Context) -> None:
        for n in range(5):
            await ctx.once(f"say {n}", world.do, n)

    with pytest.raises(InvalidInput, match="most_points: is 10, and long has 11 points"):
        world.matrix(long, most_points=10)
    for effects in (7, "text", None, lambda: 7):
        with pytest.raises(InvalidInput, match="give a list that the code under test adds to, or a function"):
            crash_matrix(world.app, long, None, effects)  # type: ignore[arg-type]


async def test_in_a_running_loop_it_says_what_to_do(world: World) -> None:
    @world.app.job("one")
    async def one(ctx: Context) -> None:
        await ctx.once("say", world.do, "said")

    with pytest.raises(TenureError, match=r"await asyncio.to_thread"):
        world.matrix(one)
    matrix = await asyncio.to_thread(crash_matrix, world.app, one, None, world.done)
    assert matrix.clean, matrix
