"""Jobs that keep their progress, in a harness: by the test's clock, without processes or waiting."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tenure import Context, SuspensionSwallowed, Tenure, TenureError, backoff
from tenure.core.model.durable import EffectAnswer, Signal, Verdict
from tenure.core.values.documents import write
from tenure.testing import Context as UnitContext
from tenure.testing import harness
from tenure.testing.harness import AsyncHarness

SOON = backoff(base=1, cap=1)


class Seen:
    """What handlers did."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def say(self, what: Any) -> Any:
        self.said.append(what)
        return what


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_a_sleeping_job_runs_again_when_the_clock_says_so(seen: Seen) -> None:
    """S2.30: from the top, with its steps, and no attempt is spent."""
    app = Tenure()

    @app.job("remind", max_attempts=1)
    async def remind(ctx: Context) -> int:
        try:
            await ctx.step("invite", seen.say, "invited")
            await ctx.sleep(timedelta(days=7), "week")
            await ctx.step("remind", seen.say, "reminded")
        finally:
            seen.say("finally")
        return ctx.attempt

    with harness(app) as t:
        remind.enqueue_sync()
        t.drain()
        [job] = t.jobs()
        assert (job.state, job.attempt) == ("suspended", 0)
        t.advance(timedelta(days=6))
        assert seen.said == ["invited", "finally"]
        t.advance(timedelta(days=1))
        [job] = t.jobs()
        assert (job.state, job.result) == ("succeeded", 1)
        assert seen.said == ["invited", "finally", "reminded", "finally"]


def test_a_plain_handler_sleeps_as_well(seen: Seen) -> None:
    app = Tenure()

    @app.job("remind")
    def remind(ctx: Context) -> None:
        for n in range(3):
            ctx.step_sync(f"say {n}", seen.say, n)
            ctx.sleep_sync(60)

    with harness(app) as t:
        remind.enqueue_sync()
        assert t.advance(180) == 4
        assert seen.said == [0, 1, 2]


async def test_an_async_test_runs_both_kinds(seen: Seen) -> None:
    """A plain handler runs in a thread there, which is its own."""
    app = Tenure()

    @app.job("plain")
    def plain(ctx: Context) -> Any:
        ctx.sleep_sync(60)
        return ctx.step_sync("say", seen.say, "plain")

    @app.job("async", lane="async")
    async def asynchronous(ctx: Context) -> Any:
        await ctx.sleep(60)
        return await ctx.step("say", seen.say, "async")

    async with harness(app, slots=2) as t:
        assert isinstance(t, AsyncHarness)
        await plain.enqueue()
        await asynchronous.enqueue()
        await t.advance(60)
        assert {job.result for job in t.jobs()} == {"plain", "async"}


WAITS = {
    "a task group": "async with asyncio.TaskGroup() as tasks: tasks.create_task(ctx.sleep(5))",
    "a thread": "await asyncio.to_thread(ctx.sleep_sync, 5)",
    "another task": "await asyncio.create_task(ctx.sleep(5))",
}


@pytest.mark.parametrize("where", WAITS)
def test_a_handler_waits_only_in_its_own_task_or_thread(where: str) -> None:
    """From another one it would not end the attempt, but come out as a group of errors, or not at all."""
    app = Tenure()
    source = f"async def wait(ctx):\n    {WAITS[where]}\n"
    names: dict[str, Any] = {"asyncio": asyncio}
    exec(source, names)  # noqa: S102
    wait = app.job("wait", max_attempts=1)(names["wait"])
    with harness(app) as t:
        wait.enqueue_sync()
        t.drain()
        [job] = t.jobs()
        assert job.state == "failed"
        assert job.error is not None
        assert "make it in the handler itself" in f"{job.error.message} {job.error.traceback}"


def test_a_handler_waits_in_the_body_of_a_task_group(seen: Seen) -> None:
    """There it is the handler's own task: what else runs in the group is cancelled."""
    app = Tenure()

    @app.job("wait")
    async def wait(ctx: Context) -> None:
        async with asyncio.TaskGroup():
            await ctx.sleep(5)
        seen.say("through")

    with harness(app) as t:
        wait.enqueue_sync()
        t.advance(5)
        [job] = t.jobs()
        assert (job.state, seen.said) == ("succeeded", ["through"])


@pytest.mark.parametrize("then", ["returns", "keeps on"])
def test_a_handler_that_swallows_its_suspension_fails(seen: Seen, then: str) -> None:
    app = Tenure()

    @app.job("swallow", max_attempts=1)
    async def swallow(ctx: Context) -> None:
        try:
            await ctx.sleep(5)
        except BaseException:  # noqa: S110
            pass
        if then == "keeps on":
            await ctx.step("more", seen.say, "more")

    with harness(app) as t:
        swallow.enqueue_sync()
        t.drain()
        [job] = t.jobs()
        assert job.state == "failed"
        assert job.error is not None
        assert job.error.kind == SuspensionSwallowed.__name__
        assert "except Exception" in job.error.message
        assert not seen.said


def test_a_hook_keeps_nothing(seen: Seen) -> None:
    """Its job has ended, and it has no lease."""
    app = Tenure()

    @app.job("plain")
    async def plain(ctx: Context) -> None: ...

    @plain.on_success
    async def after(ctx: Context) -> None:
        try:
            await ctx.step("after", seen.say, "after")
        except Exception as error:
            seen.say(str(error))

    with harness(app) as t:
        plain.enqueue_sync()
        t.drain()
    assert seen.said == ["on_success keeps nothing: its job has ended; do this in the handler"]


async def test_a_signal_resumes_a_job_and_stays_known(seen: Seen) -> None:
    """S2.30: what was decided is decided, whatever comes later."""
    app = Tenure()

    @app.job("ask", lane="async", max_attempts=3, retry=SOON)
    async def ask(ctx: Context) -> Any:
        answer = await ctx.wait_for("approved", timeout=timedelta(days=1))
        seen.say(answer)
        if ctx.attempt == 1:
            raise ConnectionError("again")
        return answer

    async with harness(app) as t:
        job = await ask.enqueue()
        await t.drain()
        _signal(t, job.id, Signal(name="approved", by="ada", body=write(7)))
        await t.advance(5)
        [found] = t.jobs()
        assert (found.state, found.result, seen.said) == ("succeeded", 7, [7, 7])


async def test_a_wait_that_has_timed_out_stays_so(seen: Seen) -> None:
    """A signal that comes later changes no history."""
    app = Tenure()

    @app.job("ask", lane="async", max_attempts=3, retry=SOON)
    async def ask(ctx: Context) -> Any:
        try:
            return await ctx.wait_for("approved", timeout=60)
        except TimeoutError as error:
            seen.say(str(error))
            if ctx.attempt == 1:
                raise ConnectionError("again") from None
            return "timed out"

    async with harness(app) as t:
        job = await ask.enqueue()
        await t.advance(60)
        _signal(t, job.id, Signal(name="approved", by="ada"))
        await t.advance(5)
        [found] = t.jobs()
        assert (found.state, found.result, len(seen.said)) == ("succeeded", "timed out", 2)


@pytest.mark.parametrize("happened", [True, False])
async def test_somebody_says_whether_an_effect_has_happened(seen: Seen, happened: bool) -> None:
    """S3.65: until then the job waits, and neither repeats nor skips it."""
    app = Tenure()

    @app.job("charge", lane="async", max_attempts=3, retry=SOON)
    async def charge(ctx: Context) -> Any:
        def pay() -> int:
            seen.say("paid")
            if len(seen.said) == 1:
                raise ConnectionError("no answer")
            return 2

        return await ctx.once("charge", pay)

    async with harness(app) as t:
        job = await charge.enqueue()
        await t.advance(3600)
        [found] = t.jobs()
        assert (found.state, seen.said) == ("suspended", ["paid"])
        said = EffectAnswer(step="charge", happened=happened, by="ada", result=write(5))
        answered = t._ask(lambda at: at.store.answer(job.id, said))
        assert answered is not None
        assert answered.verdict is Verdict.RESUMED
        await t.advance(5)
        [found] = t.jobs()
        assert (found.state, found.result) == ("succeeded", 5 if happened else 2)
        assert seen.said == ["paid"] * (1 if happened else 2)


def _signal(t: AsyncHarness, job: UUID, signal: Signal) -> None:
    delivered = t._ask(lambda at: at.store.signal(job, signal))
    assert delivered is not None


@pytest.mark.parametrize("where", ["harness", "context"])
def test_a_transaction_is_refused_in_plain_words(where: str) -> None:
    """A harness and a context have no PostgreSQL: they say so, and what to do."""
    app = Tenure()

    @app.job("pay", database="CHARGES", max_attempts=1)
    def pay(_params: dict[str, Any], ctx: Context) -> None:
        ctx.transaction_sync("charge", str)

    said = "ctx.transaction needs PostgreSQL, and tenure.testing has none"
    if where == "context":
        with pytest.raises(TenureError, match=said):
            pay({}, UnitContext())
        return
    with harness(app) as t:
        pay.enqueue_sync({})
        t.drain()
        [job] = t.jobs()
        assert job.error is not None
        assert said in job.error.message
