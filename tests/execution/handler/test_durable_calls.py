"""Durable calls of one handler, over several attempts: what runs, what is found again, what is refused."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tenure.core.errors import Fatal, InvalidInput, TenureError
from tenure.core.model import durable
from tenure.core.model.durable import LARGEST_STEP
from tenure.core.model.step_errors import InDoubt, StepChanged, StepResultRefused, TooManySteps
from tenure.execution.handler import step_memory
from tenure.testing import Context


@dataclass
class Ticket:
    number: int
    to: str


class Work:
    """Functions that remember their calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def do(self, what: Any) -> Any:
        self.calls.append(what)
        return what

    async def do_later(self, what: Any) -> Any:
        await asyncio.sleep(0)
        return self.do(what)

    def issue(self, number: int) -> Ticket:
        self.calls.append(number)
        return Ticket(number, "ada")

    def fail(self, what: Any) -> Any:
        self.do(what)
        raise ConnectionError("away")


@pytest.fixture
def work() -> Work:
    return Work()


async def test_the_nth_use_of_a_name_means_the_nth_use(work: Work) -> None:
    """S0.7: also in a later attempt, which gets as far as it gets."""
    first = Context()
    assert [await first.step("page", work.do_later, n) for n in (1, 2)] == [1, 2]
    second = first.again()
    assert await second.step("page", work.do_later, 1) == 1
    third = second.again()
    assert [await third.step("page", work.do_later, n) for n in (1, 2, 3)] == [1, 2, 3]
    assert work.calls == [1, 2, 3]
    assert set(third.steps) == {"page", "page#2", "page#3"}


async def test_a_result_is_of_the_type_that_the_function_declares(work: Work) -> None:
    """In the attempt that has run it and in those that find it: else the second would meet other values."""
    first = Context()
    assert await first.step("issue", work.issue, 7) == Ticket(7, "ada")
    assert await first.again().step("issue", work.issue, 7) == Ticket(7, "ada")
    assert first.steps == {"issue": {"number": 7, "to": "ada"}}
    assert work.calls == [7]


async def test_a_call_that_is_written_otherwise_is_told_how_it_is_written(work: Work) -> None:
    """A coroutine is closed: Python would warn that it was never awaited."""
    ctx: Any = Context()
    with pytest.raises(InvalidInput, match=r'name: is do\(\); it comes first: ctx.step\("do", do, …\)'):
        await ctx.step(work.do, 7)
    with pytest.raises(InvalidInput, match=r"function: is do_later\(…\), which was called already; give the"):
        await ctx.once("later", work.do_later(7))
    with pytest.raises(InvalidInput, match=r"function: is 7; give the function itself, and its arguments"):
        ctx.step_sync("seven", work.do(7))
    assert (work.calls, ctx.steps) == ([7], {})


@pytest.mark.parametrize("changed", ["arguments", "function", "kind"])
async def test_a_step_of_another_call_is_refused(work: Work, changed: str) -> None:
    """S0.7: in another order than before, results would be given to the wrong calls, silently."""
    first = Context()
    await first.step("get", work.do, {"id": 1})
    second = first.again()
    calls: dict[str, Any] = {
        "arguments": lambda: second.step("get", work.do, {"id": 2}),
        "function": lambda: second.step("get", work.do_later, {"id": 1}),
        "kind": lambda: second.once("get", work.do, {"id": 1}),
    }
    with pytest.raises(StepChanged, match="give what has changed another name") as refused:
        await calls[changed]()
    assert isinstance(refused.value, Fatal)
    assert work.calls == [{"id": 1}]


async def test_an_argument_that_is_no_json_counts_by_its_type(work: Work) -> None:
    """A connection is another object in each attempt."""
    first = Context()
    result = first.step_sync("send", lambda _client, what: work.do(what), object(), 3)
    assert result == first.again().step_sync("send", lambda _client, what: work.do(what), object(), 3) == 3
    again = first.again()
    again.step_sync("send", partial(lambda _client, what: work.do(what), object()), 3)
    assert work.calls == [3]


async def test_a_name_in_use_is_refused(work: Work) -> None:
    """Which of two that run at once was the first, nobody could tell after a crash."""
    ctx = Context()
    with pytest.raises(InvalidInput, match="name each by its item"):
        await asyncio.gather(ctx.step("get", work.do_later, "a"), ctx.step("get", work.do_later, "b"))
    ctx = ctx.again()
    both = await asyncio.gather(*(ctx.step(f"get {n}", work.do_later, n) for n in "ab"))
    assert both == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        *((name, "printable text of 1 to 200 bytes") for name in ("", "a\nb", None, 7)),
        *((name, "leave these characters out") for name in ("a/b", "a#2", "what?")),
        *((name, "a shorter name") for name in ("x" * 201, "é" * 101, "x" * 300)),
    ],
)
async def test_a_name_that_fits_no_address_is_refused_before_anything_runs(
    work: Work, name: Any, remedy: str
) -> None:
    for call in (Context().step, Context().once):
        with pytest.raises(InvalidInput, match=f"^name: .*{remedy}"):
            await call(name, work.do, 1)
    with pytest.raises(InvalidInput, match=f"^name: .*{remedy}"):
        await Context().wait_for(name)
    assert not work.calls


@pytest.mark.parametrize("result", [b"bytes", "x" * (LARGEST_STEP + 1)])
async def test_a_result_that_cannot_be_kept_ends_the_attempt_for_good(work: Work, result: Any) -> None:
    """S0.6: the effect is done, and is not repeated to fail in the same way."""
    assert issubclass(StepResultRefused, Fatal)
    first = Context()
    for ctx in (first, first.again()):
        with pytest.raises(StepResultRefused, match="return less"):
            await ctx.step("large", lambda: (work.do("large"), result)[1])
    assert work.calls == ["large"]


async def test_one_step_too_many_is_refused_before_its_effect(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S0.6: also among those that run at once; `forget` makes room."""
    monkeypatch.setattr(step_memory, "MOST_STEPS", 3)
    ctx = Context()
    for n in range(2):
        await ctx.step(f"step {n}", work.do, n)
    results = await asyncio.gather(
        *(ctx.step(f"more {n}", work.do_later, n) for n in range(2)), return_exceptions=True
    )
    assert [type(one) for one in results] == [int, TooManySteps]
    assert work.calls == [0, 1, 0]
    ctx.state["turn"] = 1
    await ctx.forget("step")
    assert await ctx.step("step 2", work.do, 2) == 2
    assert (ctx.saved, set(ctx.steps)) == ({"turn": 1}, {"more 0", "step 2"})


async def test_what_is_forgotten_is_counted_anew_in_every_attempt(work: Work) -> None:
    """Else a later attempt, which begins behind the checkpoint, would ask for it by another name."""
    first = Context()
    for turn in (1, 2):
        await first.step("turn", work.do, turn)
        first.state["turn"] = turn
        await first.forget("turn")
    await first.step("turn", work.do, 3)
    second = first.again()
    assert second.state == {"turn": 2}
    assert await second.step("turn", work.do, 3) == 3
    assert work.calls == [1, 2, 3]


async def test_a_step_that_the_handler_tries_again_is_the_same_step(work: Work) -> None:
    """S0.7: a later attempt, in which it does not fail at first, finds it."""

    async def flaky(item: str) -> str:
        work.calls.append(item)
        if len(work.calls) < 3:
            raise ConnectionError("not yet")
        return f"got {item}"

    async def handle(ctx: Context) -> list[str]:
        got = []
        for item in ("a", "b", "a"):
            try:
                got.append(await ctx.step("get", flaky, item))
            except ConnectionError:
                got.append("nothing")
        return got

    ctx = Context()
    assert await handle(ctx) == ["nothing", "nothing", "got a"]
    assert await handle(ctx.again()) == ["got a", "got b", "got a"]
    assert work.calls == ["a", "b", "a", "b", "a"]


@pytest.mark.parametrize("in_doubt", ["ask", "retry", "skip"])
async def test_an_effect_that_raised_is_in_doubt_for_the_same_attempt_too(work: Work, in_doubt: Any) -> None:
    """S3.65: to call it once more is no way round the question."""

    async def pay() -> None:
        work.calls.append("pay")
        raise TimeoutError("no answer from the bank")

    ctx = Context()
    expected = {"ask": TenureError, "retry": TimeoutError, "skip": InDoubt}[in_doubt]
    with pytest.raises(TimeoutError):
        await ctx.once("pay", pay, in_doubt=in_doubt)
    with pytest.raises(expected):
        await ctx.once("pay", pay, in_doubt=in_doubt)
    assert len(work.calls) == (2 if in_doubt == "retry" else 1)


async def test_a_step_within_a_step_is_refused(work: Work) -> None:
    ctx = Context()

    async def outer() -> None:
        await ctx.step("inner", work.do, 1)

    with pytest.raises(InvalidInput, match="within the step 'outer'"):
        await ctx.step("outer", outer)
    assert not work.calls


async def test_a_step_that_fails_is_tried_again_as_often_as_it_says(work: Work) -> None:
    ctx = Context()
    with pytest.raises(ConnectionError):
        await ctx.step("call", work.fail, 1, retry=2)
    with pytest.raises(ConnectionError):
        ctx.step_sync("call plainly", work.fail, 2, retry=1)
    assert work.calls == [1, 1, 1, 2, 2]
    assert len([line for line in ctx.logged if "is tried again" in line.text]) == 3
    with pytest.raises(InvalidInput, match="retry"):
        await ctx.step("call", work.fail, 1, retry=-1)
    assert not ctx.steps


async def test_what_tenure_raises_is_not_tried_again(work: Work) -> None:
    def give_up() -> None:
        work.do("once")
        raise Fatal("no such customer")

    with pytest.raises(Fatal):
        await Context().step("call", give_up, retry=5)
    assert work.calls == ["once"]


async def test_an_async_function_in_a_plain_handler_is_named(work: Work) -> None:
    called: Any = Context().step_sync
    with pytest.raises(InvalidInput, match="without _sync"):
        called("call", work.do_later, 1)


async def test_an_effect_that_began_and_did_not_end_is_in_doubt(work: Work) -> None:
    """S3.65: it runs again only if the handler says so."""
    first = Context()
    with pytest.raises(ConnectionError):
        await first.once("charge", work.fail, 7)
    with pytest.raises(TenureError, match="'charge'"):  # it would wait for an answer
        await first.again().once("charge", work.fail, 7)
    for _ in range(2):
        with pytest.raises(InDoubt) as skipped:
            await first.again().once("charge", work.fail, 7, in_doubt="skip")
        assert skipped.value.step == "charge"
    assert work.calls == [7]
    other = Context()
    with pytest.raises(ConnectionError):
        await other.once("charge", work.fail, 8)
    with pytest.raises(ConnectionError):
        await other.again().once("charge", work.fail, 8, in_doubt="retry")
    assert work.calls == [7, 8, 8]
    perhaps: Any = "perhaps"
    with pytest.raises(InvalidInput, match="in_doubt"):
        await other.once("charge", work.do, 8, in_doubt=perhaps)


async def test_an_effect_that_has_ended_is_never_repeated(work: Work) -> None:
    """S3.65"""
    first = Context()
    assert await first.once("charge", work.do_later, 7) == 7
    assert await first.again().once("charge", work.do_later, 7) == 7
    assert work.calls == [7]


async def test_a_sleep_and_a_signal_are_seen_by_a_unit_test() -> None:
    ctx = Context(signals={"approved": {"by": "ada"}}, state={"page": 3})
    await ctx.sleep(60)
    ctx.sleep_sync(timedelta(hours=1), "night")
    await ctx.sleep(0)
    assert ctx.slept == [timedelta(minutes=1), timedelta(hours=1)]
    assert await ctx.wait_for("approved") == {"by": "ada"}
    with pytest.raises(InvalidInput, match="by its turn"):
        await ctx.wait_for("approved")
    with pytest.raises(TimeoutError, match="refused"):
        await ctx.wait_for("refused", timeout=10)
    with pytest.raises(InvalidInput, match="by its turn"):
        await ctx.wait_for("refused", timeout=10)
    with pytest.raises(TenureError, match="would ever come"):
        ctx.wait_for_sync("never")
    assert ctx.state["page"] == 3
    with pytest.raises(InvalidInput, match="seconds"):
        await ctx.sleep("soon")  # type: ignore[arg-type]


async def test_a_state_that_is_no_json_is_refused() -> None:
    ctx = Context()
    ctx.state["at"] = object()
    with pytest.raises(InvalidInput):
        await ctx.checkpoint()
    ctx.state["at"] = "x" * LARGEST_STEP
    with pytest.raises(InvalidInput, match="bytes"):
        ctx.checkpoint_sync()
    assert ctx.saved is None


def test_the_name_of_a_step_on_record_is_bounded_with_its_number() -> None:
    assert durable.turn_named("page", 1) == "page"
    durable.kept_named("name", "page#10000")
    for name in ("page#", "page#x", "a#b#2", "x" * 199 + "#2"):
        with pytest.raises(InvalidInput):
            durable.kept_named("name", name)
