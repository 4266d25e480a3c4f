"""The calls of a context about progress that survives its attempt: steps, state, sleep, effects, signals.

Only their signatures and promises stand here. What they do is loaded when a handler first calls one of them:
one that keeps nothing sends nothing more, and loads nothing more.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar, TypeVarTuple, overload
from uuid import UUID

from tenure.core.errors import TenureError

if TYPE_CHECKING:
    from tenure.execution.handler.channel import Channel
    from tenure.execution.handler.durable_calls import DurableCalls
    from tenure.execution.handler.mux import MuxStream
    from tenure.execution.protocol.assignment import HandlerDatabase

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
WhenInDoubt = Literal["ask", "retry", "skip"]


class DurableContext:
    """What a handler keeps of its progress, and waits for without a slot."""

    _job: UUID
    _channel: "Channel | MuxStream"
    _fence: int
    _hook: str | None
    _database: "HandlerDatabase | None"
    _thread: int
    _calls: "DurableCalls | None" = None

    @overload
    async def step(
        self, name: str, function: Callable[[*Ts], Awaitable[T]], *arguments: *Ts, retry: int | None = None
    ) -> T: ...
    @overload
    async def step(
        self, name: str, function: Callable[[*Ts], T], *arguments: *Ts, retry: int | None = None
    ) -> T: ...
    async def step(  # type: ignore[misc]  # mypy does not match *Ts with Any
        self, name: str, function: Callable[..., Any], *arguments: Any, retry: int | None = None
    ) -> Any:
        """Call the function and keep its result; in a later attempt, return what was kept instead.

        The result is JSON, at most 256 KiB, and is returned as the type that the function declares. A crash
        after the call and before its result is kept runs it again: `once` is for what must not. The n-th use
        of a name in one attempt means the n-th use in every attempt. With `retry`, a call that fails is made
        again up to so many times.
        """
        calls = self._durable()
        return await calls.run(calls.plans.step(name, function, arguments, retry))

    def step_sync(
        self, name: str, function: Callable[[*Ts], T], *arguments: *Ts, retry: int | None = None
    ) -> T:
        """The same as `step` for a plain handler."""
        calls = self._durable()
        result: T = calls.run_sync(calls.plans.step(name, function, arguments, retry))
        return result

    @overload
    async def once(
        self,
        name: str,
        function: Callable[[*Ts], Awaitable[T]],
        *arguments: *Ts,
        in_doubt: WhenInDoubt = "ask",
    ) -> T: ...
    @overload
    async def once(
        self, name: str, function: Callable[[*Ts], T], *arguments: *Ts, in_doubt: WhenInDoubt = "ask"
    ) -> T: ...
    async def once(  # type: ignore[misc]
        self, name: str, function: Callable[..., Any], *arguments: Any, in_doubt: WhenInDoubt = "ask"
    ) -> Any:
        """Call a function that must not run twice unknowingly, and keep its result.

        It is on record before it begins. A later attempt that finds it begun and not ended is in doubt: it
        waits until somebody says whether it has happened (`ask`), calls it again and leaves an event
        `custom:in_doubt` in the job's history (`retry`), or raises `InDoubt` (`skip`).
        """
        calls = self._durable()
        return await calls.run(calls.plans.once(name, function, arguments, in_doubt))

    def once_sync(
        self, name: str, function: Callable[[*Ts], T], *arguments: *Ts, in_doubt: WhenInDoubt = "ask"
    ) -> T:
        """The same as `once` for a plain handler."""
        calls = self._durable()
        result: T = calls.run_sync(calls.plans.once(name, function, arguments, in_doubt))
        return result

    @overload
    async def transaction(
        self,
        name: str,
        function: Callable[[Any, *Ts], Awaitable[T]],
        *arguments: *Ts,
        retry: int | None = None,
    ) -> T: ...
    @overload
    async def transaction(
        self, name: str, function: Callable[[Any, *Ts], T], *arguments: *Ts, retry: int | None = None
    ) -> T: ...
    async def transaction(  # type: ignore[misc]
        self, name: str, function: Callable[..., Any], *arguments: Any, retry: int | None = None
    ) -> Any:
        """Call a function with a connection, and keep the step in the same transaction: both, or neither.

        On PostgreSQL alone. The connection is one of asyncpg to the database whose address the definition
        names by `database=`, in an open transaction. What the function writes is there exactly if the step
        is, and an attempt that has lost its lease writes nothing. It returns soon: a transaction that waits
        for its handler longer than half a lease is ended.
        """
        calls = self._durable()
        calls.required_transactions()
        return await calls.run(calls.plans.transaction(name, function, arguments, retry))

    def transaction_sync(
        self, name: str, function: Callable[[Any, *Ts], T], *arguments: *Ts, retry: int | None = None
    ) -> T:
        """The same as `transaction` for a plain handler, with a connection of psycopg."""
        calls = self._durable()
        calls.required_transactions()
        result: T = calls.run_sync(calls.plans.transaction(name, function, arguments, retry))
        return result

    @property
    def state(self) -> dict[str, Any]:
        """What the last checkpoint of the job holds, to be changed and kept by `checkpoint`.

        The first use asks the worker, and blocks the event loop meanwhile: `await ctx.recall()` before it.
        """
        calls = self._durable()
        return calls.run_sync(calls.plans.remember()).state

    async def recall(self) -> None:
        """Ask for all that the job has kept, unless that is known: no later call waits for it."""
        calls = self._durable()
        await calls.run(calls.plans.remember())

    async def checkpoint(self) -> None:
        """Keep `ctx.state` as it is now, at most 256 KiB of JSON; the last checkpoint stands."""
        calls = self._durable()
        await calls.run(calls.plans.checkpoint())

    def checkpoint_sync(self) -> None:
        """The same as `checkpoint` for a plain handler."""
        calls = self._durable()
        calls.run_sync(calls.plans.checkpoint())

    async def forget(self, prefix: str = "") -> None:
        """Remove finished steps whose names begin so, and keep `ctx.state`, in one write.

        For loops: the state says which turn is next, and steps of turns that are over are needed no more.
        """
        calls = self._durable()
        await calls.run(calls.plans.forget(prefix))

    def forget_sync(self, prefix: str = "") -> None:
        """The same as `forget` for a plain handler."""
        calls = self._durable()
        calls.run_sync(calls.plans.forget(prefix))

    async def sleep(self, seconds: float | timedelta, name: str | None = None) -> None:
        """Give the slot back and go on after so long: the handler runs again, from the top, its steps kept.

        `finally` blocks run, hooks do not. The first attempt that comes here sets the end.
        """
        calls = self._durable()
        await calls.run(calls.plans.sleep(seconds, name))

    def sleep_sync(self, seconds: float | timedelta, name: str | None = None) -> None:
        """The same as `sleep` for a plain handler."""
        calls = self._durable()
        calls.run_sync(calls.plans.sleep(seconds, name))

    async def wait_for(self, name: str, timeout: float | timedelta | None = None) -> Any:
        """Give the slot back until the job is sent a signal of this name; returns the payload.

        Raises TimeoutError if none came in time. A signal that came before is there already. The first signal
        of a name stands, so a name is waited for once.
        """
        calls = self._durable()
        return await calls.run(calls.plans.wait_for(name, timeout))

    def wait_for_sync(self, name: str, timeout: float | timedelta | None = None) -> Any:
        """The same as `wait_for` for a plain handler."""
        calls = self._durable()
        return calls.run_sync(calls.plans.wait_for(name, timeout))

    def _durable(self) -> "DurableCalls":
        if self._calls is None:
            if self._hook is not None:
                raise TenureError(f"{self._hook} keeps nothing: its job has ended; do this in the handler")
            from tenure.execution.handler.durable_calls import DurableCalls

            self._calls = DurableCalls(self._channel, self._fence, self._thread)
            if self._database is not None:
                from tenure.execution.handler.transactions import Transactions

                self._calls.transactions = Transactions(self._job, self._fence, self._database)
        return self._calls
