"""Transactions of a handler's own, on PostgreSQL: a step is kept by the last statement before COMMIT.

So what the function has written is there exactly if the step is. From that statement on the job's row is
locked until the transaction ends, and no other attempt can begin before that. If the answer to COMMIT is
lost, it is `Undecided`: the worker looks, once nothing is open that could still commit.

Each transaction has a connection of its own: a pool would outlive attempts, and be shared by definitions.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.errors import Fatal, InvalidInput, LeaseLost, TenureError
from tenure.core.model.durable import MOST_STEPS, StepDraft
from tenure.core.model.step_errors import TooManySteps
from tenure.core.values.documents import Document
from tenure.execution.handler.step_values import refuse_awaitable
from tenure.execution.protocol.assignment import HandlerDatabase

CONNECTING = 10
"""Seconds for a connection."""

CLOSING = 5
"""Seconds to roll back, or to take leave of the server."""

_DRIVERS = {"asyncpg": "asyncpg>=0.30", "psycopg": "psycopg[binary]>=3.2"}
_OPEN = (
    "SELECT set_config('tenure.transaction', {}, true), "
    "set_config('idle_in_transaction_session_timeout', {}, true)"
)
_KEEP = (
    "SELECT tenure.keep_step({}::uuid, {}::bigint, {}::text, {}::text, {}::text) "
    "WHERE current_setting('tenure.transaction', true) = {}::text"
)


class TransactionCall(NamedTuple):
    """Call a function with a connection, and keep its result, as `written`, in the same transaction."""

    draft: StepDraft
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    written: Callable[[Any], Document]


class Undecided(TenureError):
    """Whether the transaction was committed is not known here; `error` is why."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Transactions:
    """Runs the transactions of one attempt."""

    def __init__(self, job: UUID, fence: int, database: HandlerDatabase) -> None:
        self._job = job
        self._fence = fence
        self._database = database

    async def run(self, asked: TransactionCall) -> Document:
        """Run it for an async handler, with a connection of asyncpg; returns the result as it was kept."""
        import asyncio

        connection: Any = await _driver("asyncpg").connect(
            self._address(), timeout=CONNECTING, statement_cache_size=0
        )
        try:
            transaction = connection.transaction()
            await transaction.start()
            try:
                token, opening = self._opening()
                await connection.fetch(_numbered(_OPEN), *opening)
                result = asked.function(connection, *asked.arguments)
                body = asked.written(await result if hasattr(result, "__await__") else result)
                try:
                    kept = await connection.fetch(_numbered(_KEEP), *self._step(asked.draft, body), token)
                except Exception as error:
                    raise refusal(error, asked.draft) from error
                _check_whole(kept, asked.draft)
            except BaseException:
                with suppress(Exception):  # of a connection that is gone, and the transaction with it
                    async with asyncio.timeout(CLOSING):
                        await transaction.rollback()
                raise
            try:
                async with asyncio.timeout(self._database.idle_ms / 1000):
                    await transaction.commit()
            except Exception as error:
                raise Undecided(error) from error
            with suppress(Exception):
                await connection.close(timeout=CLOSING)
        finally:
            connection.terminate()
        return body

    def run_sync(self, asked: TransactionCall) -> Document:
        """Run it for a plain handler, with a connection of psycopg."""
        psycopg = _driver("psycopg")
        connection: Any = psycopg.connect(
            self._address(),
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECTING,
            tcp_user_timeout=self._database.idle_ms,
        )
        is_committing = False
        try:
            with connection.transaction():
                token, opening = self._opening()
                connection.execute(_formatted(_OPEN), opening)
                result = asked.function(connection, *asked.arguments)
                refuse_awaitable(asked.draft.name, result)
                body = asked.written(result)
                try:
                    step = (*self._step(asked.draft, body), token)
                    kept = connection.execute(_formatted(_KEEP), step).fetchall()
                except Exception as error:
                    raise refusal(error, asked.draft) from error
                _check_whole(kept, asked.draft)
                is_committing = True
        except Exception as error:
            if is_committing:
                raise Undecided(error) from error
            raise
        finally:
            connection.close()
        return body

    def _address(self) -> str:
        name = self._database.variable
        try:
            return os.environ[name]
        except KeyError:
            problem = f"is {name}, a variable that this process has not"
            raise InvalidInput("database", problem, "do not remove it from os.environ") from None

    def _opening(self) -> tuple[str, tuple[str, str]]:
        """A token that only this transaction has, and what its first statement sets until its end."""
        token = os.urandom(8).hex()
        return token, (token, f"{self._database.idle_ms}ms")

    def _step(self, draft: StepDraft, body: Document) -> tuple[UUID, int, str, str, str]:
        return self._job, self._fence, draft.name, str(body), draft.call


def refusal(error: Exception, draft: StepDraft) -> Exception:
    """What `tenure.keep_step` has refused, in the words of other steps; else the driver's own error."""
    match getattr(error, "sqlstate", None):
        case "TN002":
            return LeaseLost(
                f"the lease of this attempt is gone: the transaction {draft.name!r} is rolled back"
            )
        case "TN004":
            return TooManySteps(draft.name, MOST_STEPS)
        case "TN005":  # by a transaction of this attempt whose end was not known
            return Undecided(error)
    return error


def _check_whole(kept: list[Any], draft: StepDraft) -> None:
    """The statement that keeps the step finds the transaction that was begun, unless that has ended."""
    if not kept:
        raise Fatal(
            f"the function of {draft.name!r} has ended its transaction itself: what it wrote may be there, "
            "and the step is not; leave COMMIT and ROLLBACK to ctx.transaction"
        )


def _driver(name: str) -> Any:
    """The user's own driver: an app that has no transactions need not install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        call = "ctx.transaction" if name == "asyncpg" else "ctx.transaction_sync"
        problem = f"which {call} connects with, is not installed where the handlers run"
        raise InvalidInput("driver", f"{name}, {problem}", f"run pip install '{_DRIVERS[name]}'") from None


def _numbered(text: str) -> str:
    return text.format(*(f"${number}" for number in range(1, text.count("{}") + 1)))


def _formatted(text: str) -> str:
    return text.replace("{}", "%s")
