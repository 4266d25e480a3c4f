"""Runs the plans of durable calls, in an async handler or a plain one, and asks the worker what they ask."""

import sys
from _thread import allocate_lock, get_ident
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.model.retry import HandlerWaits, WaitAsked
from tenure.core.model.step_errors import SuspensionSwallowed
from tenure.execution.handler.durable_plans import (
    DurablePlans,
    Effect,
    Plan,
    Remember,
    RetryPause,
    StepCall,
    Suspend,
)
from tenure.execution.handler.replies import MakeRequest, Reply, error_of
from tenure.execution.handler.step_memory import StepMemory
from tenure.execution.handler.step_values import refuse_awaitable
from tenure.execution.handler.transactions import TransactionCall, Transactions
from tenure.execution.protocol.durable import ANSWER, Answer, Question, Recall, Recalled, packed
from tenure.execution.protocol.messages import DurableAnswer, DurableQuestion, ErrorReply, LogMessage

if TYPE_CHECKING:
    import asyncio

    from tenure.execution.handler.channel import Channel
    from tenure.execution.handler.mux import MuxStream

T = TypeVar("T")

_inside: ContextVar[str | None] = ContextVar("_inside", default=None)
"""The step whose function this code belongs to."""


class DurableCalls:
    """The durable calls of one attempt."""

    def __init__(self, channel: "Channel | MuxStream", fence: int, thread: int) -> None:
        """`thread` is the one that the handler began in."""
        self.plans = DurablePlans(fence)
        self._channel = channel
        self._thread = thread
        self._memory: StepMemory | None = None
        self._recalling: asyncio.Task[StepMemory] | None = None
        self._recall_lock = allocate_lock()
        self._waits: WaitAsked | None = None
        self.transactions: Transactions | None = None
        """What runs transactions, where the definition names a database for them."""

    def required_transactions(self) -> Transactions:
        """What runs transactions; refuses where there can be none."""
        if self._channel.no_transactions:
            raise TenureError(self._channel.no_transactions)
        if self.transactions is None:
            remedy = 'name the variable with its address: @app.job(…, database="ORDERS_DB")'
            raise InvalidInput("database", "is not named by the definition of this job", remedy)
        return self.transactions

    def check_swallowed(self) -> None:
        """Raise `SuspensionSwallowed` if the handler waits, and has gone on all the same."""
        if self._waits is not None:
            raise SuspensionSwallowed(self._waits.step)

    async def run(self, plan: Plan[T]) -> T:
        """Run a plan in an async handler."""
        self._check()
        try:
            effect = next(plan)
            while True:
                try:
                    answer = await self._perform(effect)
                except BaseException as error:
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as returned:
            value: T = returned.value
            return value

    def run_sync(self, plan: Plan[T]) -> T:
        """Run a plan in a plain handler."""
        self._check()
        try:
            effect = next(plan)
            while True:
                try:
                    answer = self._perform_sync(effect)
                except BaseException as error:
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as returned:
            value: T = returned.value
            return value

    def _check(self) -> None:
        self.check_swallowed()
        if (outer := _inside.get()) is not None:
            problem = f"is made within the step {outer!r}: what is kept there would be lost with it"
            raise InvalidInput("call", problem, "make it in the handler itself, before or after that step")

    async def _perform(self, effect: Effect) -> Any:
        match effect:
            case Remember():
                return self._memory or await self._recall()
            case StepCall(step, function, arguments):
                token = _inside.set(step)
                try:
                    result = function(*arguments)
                    return await result if hasattr(result, "__await__") else result
                finally:
                    _inside.reset(token)
            case TransactionCall(draft=draft):
                token = _inside.set(draft.name)
                try:
                    return await self.required_transactions().run(effect)
                finally:
                    _inside.reset(token)
            case RetryPause(seconds=seconds):
                import asyncio

                self._tell(effect)
                return await asyncio.sleep(seconds if self._channel.passes_time else 0)
            case Suspend(asked):
                return self._suspend(asked)
            case question:
                return await self._ask(question)

    def _perform_sync(self, effect: Effect) -> Any:
        match effect:
            case Remember():
                return self._memory or self._recall_sync()
            case StepCall(step, function, arguments):
                return _called(step, function, arguments)
            case TransactionCall(draft=draft):
                token = _inside.set(draft.name)
                try:
                    return self.required_transactions().run_sync(effect)
                finally:
                    _inside.reset(token)
            case RetryPause(seconds=seconds):
                self._tell(effect)
                if self._channel.wait_for_cancel(seconds):
                    raise effect.error
                return None
            case Suspend(asked):
                return self._suspend(asked)
            case question:
                return answer_in(self._channel.exchange(_asking(question)))

    async def _ask(self, question: Question) -> Answer:
        import asyncio

        loop = asyncio.get_running_loop()
        replied: asyncio.Future[Reply] = loop.create_future()

        def resolve(reply: Reply) -> None:
            if not replied.done():  # its waiter may have been cancelled
                replied.set_result(reply)

        def on_reply(reply: Reply) -> None:
            # This may be any thread; the future belongs to the loop.
            loop.call_soon_threadsafe(resolve, reply)

        self._channel.ask(_asking(question), on_reply)
        return answer_in(await replied)

    async def _recall(self) -> StepMemory:
        """Ask once, however many tasks want to know."""
        import asyncio

        if self._recalling is None:
            self._recalling = asyncio.create_task(self._recall_once())
        return await asyncio.shield(self._recalling)

    async def _recall_once(self) -> StepMemory:
        try:
            return self._remembered(await self._ask(Recall()))
        finally:
            self._recalling = None

    def _recall_sync(self) -> StepMemory:
        with self._recall_lock:  # the threads of one handler ask once, too
            return self._memory or self._remembered(answer_in(self._channel.exchange(_asking(Recall()))))

    def _remembered(self, answer: Answer) -> StepMemory:
        assert isinstance(answer, Recalled)  # noqa: S101  the worker answers what it is asked
        if self._memory is None:
            self._memory = StepMemory(answer)
        return self._memory

    def _suspend(self, asked: WaitAsked) -> None:
        if not self._is_own():
            raise InvalidInput(
                "call",
                f"waits for {asked.step!r} in a task or a thread that the handler has started: from there it "
                "cannot end the attempt",
                "make it in the handler itself: before, after, or instead of the TaskGroup or thread",
            )
        self._waits = asked
        raise HandlerWaits(asked)

    def _is_own(self) -> bool:
        """Whether this is the handler's own task or thread, and none that it has started."""
        running = sys.modules.get("asyncio")
        try:
            task = None if running is None else running.current_task()
        except RuntimeError:  # no loop runs in this thread
            task = None
        if task is not None:
            return task is self._channel.task
        return get_ident() == (self._channel.own_thread or self._thread)

    def _tell(self, pause: RetryPause) -> None:
        error = f"{type(pause.error).__name__}: {pause.error!s:.500}"
        text = f"the step {pause.step!r} failed and is tried again in {pause.seconds:.1f} s: {error}"
        self._channel.send(LogMessage("warning", text.encode(errors="replace").decode()))


def answer_in(reply: Reply) -> Answer:
    """The worker's answer to a question; raises the error that it sent instead."""
    if isinstance(reply, DurableAnswer):
        answer: Answer = ANSWER.decode(reply.body)
        return answer
    if isinstance(reply, ErrorReply):
        raise error_of(reply)
    raise TenureError("the worker has answered another request")


def _asking(question: Question) -> MakeRequest:
    body = packed(question)
    return lambda number: DurableQuestion(number, body)


def _called(step: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    token = _inside.set(step)
    try:
        result = function(*arguments)
    finally:
        _inside.reset(token)
    refuse_awaitable(step, result)
    return result
