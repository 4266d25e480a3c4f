"""An attempt whose process dies at a frame, as far as a test's own process can play that.

The handler is made to unwind: an async one is cancelled, a plain one has `Died` raised by the call that it is
in. Nothing that it sends from then on arrives, and its lease is left to run out.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tenure.execution.handler.handler import Handler
from tenure.execution.handler.replies import MakeRequest, Reply
from tenure.execution.parent.attempt_terms import AttemptTerms
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.messages import Cancel, FromChild, ReportMessage
from tenure.testing.crash_points import Crash, Side
from tenure.testing.inline_channel import InlineChannel
from tenure.testing.inline_lane import Beat, InlineAttempt


class Died(BaseException):
    """Unwinds a plain handler whose process is to be dead, and threads that it has started."""


@contextmanager
def silent_deaths() -> Iterator[None]:
    """Meanwhile say nothing of threads that `Died` ends: nobody needs to hear of them."""
    before = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        if not issubclass(arguments.exc_type, Died):
            before(arguments)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


class CrashingChannel(InlineChannel):
    """Passes on messages until the crash; `vanish` is called when the handler has unwound after it."""

    def __init__(
        self,
        post: Callable[[bytes], object],
        beat: Callable[[], object],
        crash: Crash,
        vanish: Callable[[], object],
    ) -> None:
        super().__init__(post, beat)
        self._crash = crash
        self._vanish = vanish
        self._is_dead = False

    def send(self, message: FromChild) -> None:
        """Send a message, unless the process is dead by now or dies of it."""
        if not isinstance(message, ReportMessage):
            if not self._is_dead:
                super().send(message)
            return
        side = None if self._is_dead else self._crash.meet(message)
        if side is Side.BEFORE:
            self._die()
        if self._is_dead:
            self._vanish()
            return
        super().send(message)
        if side is Side.AFTER:
            self._die()

    def ask(self, request: MakeRequest, on_reply: Callable[[Reply], None]) -> None:
        """Send a request of an async handler; after the crash no reply comes."""
        loop, asking = asyncio.get_running_loop(), asyncio.current_task()

        def die() -> None:
            self._die()
            if asking is not None:  # it may be a task beside the handler's own
                asking.cancel()

        def die_in_the_loop(_: Reply) -> None:
            loop.call_soon_threadsafe(die)

        side = None if self._is_dead else self._crash.meet(request(0))
        if self._is_dead or side is Side.BEFORE:
            die()
        elif side is Side.AFTER:
            super().ask(request, die_in_the_loop)
        else:
            super().ask(request, on_reply)

    def exchange(self, request: MakeRequest) -> Reply:
        """Send a request and wait for the reply; raises `Died` at the crash and ever after."""
        side = None if self._is_dead else self._crash.meet(request(0))
        if not self._is_dead and side is not Side.BEFORE:
            reply = super().exchange(request)
            if side is None and not self._is_dead:
                return reply
        self._die()
        raise Died

    def receive(self, message: Cancel | Reply) -> None:
        """Take in what comes, if anybody is left for it."""
        try:
            super().receive(message)
        except RuntimeError:  # the loop of what has asked is closed
            if not self._is_dead:
                raise

    def look(self) -> None:
        """Ask the store whether the attempt is to stop."""
        if not self._is_dead:
            super().look()

    def _die(self) -> None:
        if not self._is_dead:
            self._is_dead = True
            self._crash.strike()
            self.cancel()


class CrashingAttempt(InlineAttempt):
    """One attempt of the job that is to crash."""

    def __init__(
        self, crash: Crash, assignment: Assignment, handler: Handler, terms: AttemptTerms, beat: Beat
    ) -> None:
        super().__init__(assignment, handler, terms, beat)
        self.channel = CrashingChannel(self._post, self._beat_now, crash, self.vanish)
