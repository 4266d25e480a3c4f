"""What each durable call does, step by step: a plan asks, calls and pauses by what it yields.

The same plan runs in an async handler and in a plain one (`durable_calls`): here is neither an event loop nor
a socket. A crash may come between any two lines. So an effect that must not run twice unknowingly is on
record as intended before it begins, and every other one may run again until its result is on record.
"""

from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeVar

from tenure.core.errors import InvalidInput, InvalidJson, TenureError
from tenure.core.model.durable import (
    LARGEST_PROGRESS,
    LARGEST_STEP,
    MOST_STEPS,
    StepDraft,
    StepKind,
    StepStatus,
    WaitKind,
    step_named,
)
from tenure.core.model.policy import RetryPolicy
from tenure.core.model.retry import WaitAsked, backoff
from tenure.core.model.step_errors import InDoubt, StepChanged, StepResultRefused, TooManySteps
from tenure.core.values.bounds import HORIZON, whole, within
from tenure.core.values.documents import Document, read, write
from tenure.execution.handler.step_memory import StepMemory, StepNames
from tenure.execution.handler.step_values import call_of, check_call, kept_result, result_of
from tenure.execution.handler.transactions import TransactionCall, Undecided
from tenure.execution.protocol.durable import (
    Forget,
    Keep,
    KeepRefused,
    Question,
    RecalledOne,
    RecalledSignal,
    RecalledStep,
    RecallOne,
    RecallSignal,
    Save,
)

T = TypeVar("T")
Seconds = float | timedelta
WhenInDoubt = Literal["ask", "retry", "skip"]

_MOST_RETRIES = 100
_RETRIES = RetryPolicy(cap=timedelta(seconds=60))
_IN_DOUBT = ("ask", "retry", "skip")
_NO_ROOM = f"does not fit into the {LARGEST_PROGRESS:,} bytes that all steps of a job may have"


class Remember(NamedTuple):
    """Have what the job has kept; the answer is the `StepMemory`."""


class StepCall(NamedTuple):
    """Call a function of the user's, within the step of this name; the answer is what it returned."""

    step: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class RetryPause(NamedTuple):
    """Wait so long before the next try of a step that has failed."""

    step: str
    error: Exception
    seconds: float


class Suspend(NamedTuple):
    """End the attempt, until the wait is over."""

    asked: WaitAsked


Effect = Question | Remember | StepCall | TransactionCall | RetryPause | Suspend
Plan = Generator[Effect, Any, T]


class DurablePlans:
    """The plans of one attempt."""

    def __init__(self, fence: int) -> None:
        self._fence = fence
        self._names = StepNames()

    def step(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], retry: int | None
    ) -> Plan[Any]:
        """Call the function, unless an attempt has done it and its result is on record."""
        check_call("step", name, function)
        if retry is not None:
            whole("retry", retry, 0, _MOST_RETRIES)
        memory: StepMemory = yield Remember()
        call = call_of(function, arguments)
        with self._names.used(name, call, memory) as kept:
            if (found := memory.found(kept, StepKind.STEP, call)) is not None:
                return (yield from _result(found, function))
            with memory.room_for(kept):
                value = yield from _tried(kept, lambda: _called(StepCall(kept, function, arguments)), retry)
                done = StepDraft(name=kept, kind=StepKind.STEP, status=StepStatus.DONE, call=call)
                return (yield from self._keep_result(memory, done, value, function))

    def once(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], in_doubt: str
    ) -> Plan[Any]:
        """Call the function after it is on record that it may have begun."""
        check_call("once", name, function)
        if in_doubt not in _IN_DOUBT:
            raise InvalidInput("in_doubt", f"is {in_doubt!r:.64}", f"give one of {', '.join(_IN_DOUBT)}")
        memory: StepMemory = yield Remember()
        call = call_of(function, arguments)
        with self._names.used(name, call, memory) as kept:
            effect = StepDraft(name=kept, kind=StepKind.ONCE, status=StepStatus.INTENDED, call=call)
            match memory.found(kept, StepKind.ONCE, call):
                case RecalledStep(status=StepStatus.DONE) as found:
                    return (yield from _result(found, function))
                case RecalledStep(status=StepStatus.SKIPPED):
                    raise InDoubt(kept)
                case RecalledStep(status=StepStatus.INTENDED) if in_doubt == "ask":
                    yield Suspend(WaitAsked(WaitKind.ANSWER, kept))
                case RecalledStep(status=StepStatus.INTENDED) if in_doubt == "skip":
                    yield from self._keep(memory, _with(effect, StepStatus.SKIPPED))
                    raise InDoubt(kept)
            with memory.room_for(kept):
                if not (yield from self._keep(memory, effect)):
                    raise TooManySteps(kept, MOST_STEPS)
                value = yield StepCall(kept, function, arguments)
                done = _with(effect, StepStatus.DONE)
                return (yield from self._keep_result(memory, done, value, function))

    def transaction(
        self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...], retry: int | None
    ) -> Plan[Any]:
        """Call the function with a connection whose transaction commits together with the step."""
        check_call("transaction", name, function)
        if retry is not None:
            whole("retry", retry, 0, _MOST_RETRIES)
        memory: StepMemory = yield Remember()
        call = call_of(function, arguments)
        with self._names.used(name, call, memory) as kept:
            if (found := memory.found(kept, StepKind.TRANSACTION, call)) is not None:
                return (yield from _result(found, function))
            done = StepDraft(name=kept, kind=StepKind.TRANSACTION, status=StepStatus.DONE, call=call)

            def written(value: Any) -> Document:
                try:
                    body = kept_result(value)
                except InvalidJson as error:
                    raise StepResultRefused(
                        kept, f"cannot be kept: it {error.problem}", is_undone=True
                    ) from None
                if not memory.has_room_for(body):
                    raise StepResultRefused(kept, _NO_ROOM, is_undone=True)
                return body

            asked = TransactionCall(done, function, arguments, written)
            with memory.room_for(kept):
                body = yield from _tried(kept, lambda: self._committed(memory, asked), retry)
                return result_of(kept, function, body)

    def _committed(self, memory: StepMemory, asked: TransactionCall) -> Plan[str]:
        """The result that was kept; where nobody was told whether it was, the worker looks."""
        draft = asked.draft
        try:
            body: str = yield asked
        except Undecided as undecided:
            answer: RecalledOne = yield RecallOne(draft.name, is_decided=True)
            if answer.step is None:
                raise undecided.error from None
            memory.steps[draft.name] = answer.step
            memory.found(draft.name, draft.kind, draft.call)
            return (yield from _body_of(answer.step))
        memory.note(_with(draft, StepStatus.DONE, body), self._fence)
        return body

    def sleep(self, duration: Seconds, name: str | None) -> Plan[None]:
        """Wait without a slot; the first attempt that comes here sets the end."""
        length = _length("seconds", duration)
        memory: StepMemory = yield Remember()
        with self._names.used("sleep" if name is None else f"sleep:{name}", "", memory) as kept:
            found = memory.found(kept, StepKind.SLEEP, "")
            if found is not None and found.status is StepStatus.DONE:
                return
            if kept in memory.waits_over:
                done = StepDraft(name=kept, kind=StepKind.SLEEP, status=StepStatus.DONE)
                yield from self._keep(memory, done)
            elif found is not None or length > timedelta(0):
                with memory.room_for(kept):
                    yield Suspend(WaitAsked(WaitKind.TIME, kept, timeout=max(length, timedelta(0))))

    def wait_for(self, signal: str, timeout: Seconds | None) -> Plan[Any]:
        """Wait for a signal without a slot; what it was, or that none came, is kept for later attempts."""
        step_named("name", signal)
        longest = None if timeout is None else max(_length("timeout", timeout), timedelta(0))
        memory: StepMemory = yield Remember()
        with self._names.used(f"wait:{signal}", "", memory, is_repeatable=False) as kept:
            done = StepDraft(name=kept, kind=StepKind.WAIT, status=StepStatus.DONE)
            found = memory.found(kept, StepKind.WAIT, "")
            if found is not None and found.status is StepStatus.DONE:
                if found.size is None:
                    raise TimeoutError(f"no signal {signal!r} came in time")
                return read((yield from _body_of(found)), limit=LARGEST_STEP)
            if signal in memory.signals or signal in memory.long_signals:
                payload = memory.signals.get(signal)
                if payload is None:
                    answer: RecalledSignal = yield RecallSignal(signal)
                    payload = answer.body or "null"
                yield from self._keep(memory, _with(done, StepStatus.DONE, payload))
                return read(payload, limit=LARGEST_STEP)
            if kept in memory.waits_over:
                yield from self._keep(memory, done)
                raise TimeoutError(f"no signal {signal!r} came in time")
            with memory.room_for(kept):
                yield Suspend(WaitAsked(WaitKind.SIGNAL, kept, signal, longest))

    def checkpoint(self) -> Plan[None]:
        """Replace what is kept of `ctx.state`."""
        memory: StepMemory = yield Remember()
        yield Save(_written(memory))

    def save(self, document: Document) -> Plan[None]:
        """Replace the checkpoint by this document."""
        yield Save(document)

    def forget(self, prefix: str) -> Plan[None]:
        """Remove finished steps and replace the checkpoint, in one write."""
        if prefix:
            step_named("prefix", prefix)
        memory: StepMemory = yield Remember()
        self._names.forget(prefix)
        yield Forget(prefix, _written(memory))
        memory.forget(prefix)

    def remember(self) -> Plan[StepMemory]:
        """Ask for what the job has kept."""
        memory: StepMemory = yield Remember()
        return memory

    def _keep_result(
        self, memory: StepMemory, done: StepDraft, value: Any, function: Callable[..., Any]
    ) -> Plan[Any]:
        """Keep the result of a function that has run; if it cannot be kept, at least that it has run."""
        problem = _NO_ROOM
        try:
            body = kept_result(value)
        except InvalidJson as error:
            problem = f"cannot be kept: it {error.problem}"
        else:
            is_kept = memory.has_room_for(body)
            if is_kept:
                is_kept = yield from self._keep(memory, _with(done, StepStatus.DONE, body))
            if is_kept:
                return result_of(done.name, function, body)
        yield from self._keep(memory, done)
        raise StepResultRefused(done.name, problem)

    def _keep(self, memory: StepMemory, draft: StepDraft) -> Plan[bool]:
        """Keep a step; False if the job has no room for it."""
        answer = yield Keep(draft)
        if isinstance(answer, KeepRefused):
            if answer.why != "full":
                raise StepChanged(draft.name, "was kept by another call meanwhile")
            return False
        memory.note(draft, self._fence)
        return True


def _called(call: StepCall) -> Plan[Any]:
    return (yield call)


def _tried(step: str, make: Callable[[], Plan[T]], retries: int | None) -> Plan[T]:
    """Do it, again and again if it fails; what Tenure itself raises is not tried again."""
    for attempt in range(1, (retries or 0) + 1):
        try:
            return (yield from make())
        except TenureError:
            raise
        except Exception as error:
            from random import random

            yield RetryPause(step, error, backoff(attempt, _RETRIES, random).total_seconds())
    return (yield from make())


def _result(found: RecalledStep, function: Callable[..., Any]) -> Plan[Any]:
    if found.size is None:
        raise StepResultRefused(found.name, "could not be kept")
    return result_of(found.name, function, (yield from _body_of(found)))


def _body_of(found: RecalledStep) -> Plan[str]:
    if found.body is not None:
        return found.body
    answer: RecalledOne = yield RecallOne(found.name)
    if answer.step is None or answer.step.body is None:
        raise StepChanged(found.name, "is on record no longer")
    return answer.step.body


def _with(draft: StepDraft, status: StepStatus, body: str | None = None) -> StepDraft:
    kept = None if body is None else Document(body)
    return StepDraft(name=draft.name, kind=draft.kind, status=status, call=draft.call, body=kept)


def _written(memory: StepMemory) -> Document:
    return write(memory.state, limit=LARGEST_STEP)


def _length(field: str, duration: Seconds) -> timedelta:
    try:
        length = duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
    except (TypeError, OverflowError, ValueError):
        raise InvalidInput(field, f"is {duration!r:.64}", "give seconds or a timedelta") from None
    within(field, length, -HORIZON, HORIZON)
    return length
