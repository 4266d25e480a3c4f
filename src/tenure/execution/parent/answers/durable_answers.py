"""Has the questions of one attempt about its job's progress answered, many at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from tenure.core.errors import TenureError
from tenure.core.model.durable import LARGEST_STEP
from tenure.core.values.documents import check
from tenure.execution.parent.answers.error_replies import error_reply
from tenure.execution.parent.attempt_terms import AttemptListener
from tenure.execution.protocol.durable import QUESTION, Answer, Forget, Keep, Question, Save, packed
from tenure.execution.protocol.frames import LARGEST_FRAME, read
from tenure.execution.protocol.messages import DurableAnswer, DurableQuestion, ErrorReply

MOST_AT_ONCE = 20_000
"""The most questions of one attempt that may wait; a job may have half as many steps."""

MOST_BYTES = 64 << 20
"""The most bytes of them, all steps of a job four times over."""

Send = Callable[[DurableAnswer | ErrorReply], object]


class DurableAnswers:
    """Answers each question as soon as it can be: what is kept for several travels to the store together."""

    def __init__(self, listener: AttemptListener) -> None:
        self._listener = listener
        self._answering: set[asyncio.Task[None]] = set()
        self._bytes = 0
        self._failure: Exception | None = None

    def begin(self, question: DurableQuestion, send: Send) -> None:
        """Have a question answered; raises `Garbage` or `InvalidInput` for what no handler asks."""
        size = len(question.body)
        if len(self._answering) >= MOST_AT_ONCE or self._bytes + size > MOST_BYTES:
            problem = f"over {MOST_AT_ONCE:,} questions or {MOST_BYTES:,} bytes of this attempt wait already"
            send(ErrorReply(question.number, TenureError.__name__, [problem]))
            return
        self._bytes += size
        asked = _checked(read(QUESTION, question.body))
        task = asyncio.get_running_loop().create_task(self._answer(question.number, asked, send, size))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    @property
    def is_done(self) -> bool:
        """Whether nothing waits for an answer, and nothing has failed."""
        return not self._answering and self._failure is None

    async def finish(self) -> None:
        """Wait for what was asked; raises the listener's own error, if there was one."""
        try:
            while self._answering:
                await asyncio.wait(tuple(self._answering))
        except asyncio.CancelledError:
            for task in self._answering:
                task.cancel()
            raise
        if self._failure is not None:
            raise self._failure

    async def _answer(self, number: int, asked: Question, send: Send, size: int) -> None:
        try:
            send(await reply_to(number, self._listener.durable(asked)))
        except Exception as error:  # the listener's own
            self._failure = error
        finally:
            self._bytes -= size


async def reply_to(number: int, answering: Coroutine[Any, Any, Answer]) -> DurableAnswer | ErrorReply:
    """The answer as it travels, or the error that the handler is to see."""
    try:
        body = packed(await answering)
    except TenureError as error:
        return error_reply(number, error)
    if len(body) > LARGEST_FRAME - 64:
        return ErrorReply(number, TenureError.__name__, ["what the job has kept is too large to be sent"])
    return DurableAnswer(number, body)


def _checked(asked: Question) -> Question:
    """The question, with nothing in it that a store would refuse; raises `InvalidInput`."""
    match asked:
        case Keep(step) if step.body is not None:
            return Keep(replace(step, body=check(step.body, limit=LARGEST_STEP)))
        case Save(body):
            return Save(check(body, limit=LARGEST_STEP))
        case Forget(prefix, str() as body):
            return Forget(prefix, check(body, limit=LARGEST_STEP))
    return asked
