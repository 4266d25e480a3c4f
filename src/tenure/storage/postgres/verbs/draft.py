"""Jobs recorded by the caller's own connection to the PostgreSQL database.

The statements and their order are written once, as a generator that yields statements and is sent their rows;
two loops drive it, for blocking and asynchronous connections.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
from tenure.storage.contract.draft import Connection
from tenure.storage.postgres.wire import foreign_connections
from tenure.storage.postgres.wire.foreign_connections import NamedStatement, Rows

_HINTS = {State.QUEUED: "queued ", State.SCHEDULED: "timed "}
"""As `wakeups` sends them, without a sender; PostgreSQL delivers them after the commit."""

_ELSEWHERE = {"23502", "3F000", "42P01"}
"""The errors of a database that lacks the line, the schema or its tables: it is not the app's own."""

Steps = Generator[NamedStatement, Rows, list[Enqueued]]


class PostgresDraft:
    """New jobs, as the columns of the statement that records them."""

    def __init__(self, jobs: Sequence[NewJob], columns: Mapping[str, Any]) -> None:
        self._jobs = jobs
        self._columns = columns

    def record(self, connection: Connection) -> list[Enqueued]:
        fetch = foreign_connections.blocking_fetch(connection)
        if fetch is None:
            raise InvalidInput("connection", "is asynchronous", "await the method without _sync")
        steps = self._steps()
        with _same_database():
            try:
                statement = next(steps)
                while True:
                    statement = steps.send(fetch(statement))
            except StopIteration as end:
                return _answers(end)

    async def record_async(self, connection: Connection) -> list[Enqueued]:
        if foreign_connections.blocking_fetch(connection) is not None:
            return self.record(connection)
        fetch = await foreign_connections.async_fetch(connection)
        steps = self._steps()
        with _same_database():
            try:
                statement = next(steps)
                while True:
                    statement = steps.send(await fetch(statement))
            except StopIteration as end:
                return _answers(end)

    def _steps(self) -> Steps:
        answers: dict[int, Enqueued] = {}
        while missing := [index for index in range(len(self._jobs)) if index not in answers]:
            fresh = yield from self._record(missing)
            answers |= fresh
            if len(fresh) < len(missing):
                answers |= yield from self._find(missing, fresh)
        born = {answer.state for answer in answers.values() if answer.fresh}
        for state in born & _HINTS.keys():
            yield NamedStatement("listen", {"hint": _HINTS[state]})
        return [answers[index] for index in sorted(answers)]

    def _record(self, missing: Sequence[int]) -> Generator[NamedStatement, Rows, dict[int, Enqueued]]:
        """Record these jobs; returns those whose key and id were free."""
        rows = yield NamedStatement("enqueue.record+keys", self._of(missing))
        fresh = {}
        for row in rows:
            index = missing[row["position"] - 1]
            fresh[index] = Enqueued(self._columns["ids"][index], State(row["state"]), fresh=True)
        return fresh

    def _find(
        self, missing: Sequence[int], fresh: Mapping[int, Enqueued]
    ) -> Generator[NamedStatement, Rows, dict[int, Enqueued]]:
        """Find the jobs that have the keys of the others; none for a key that is free again by now."""
        places = {index: place for place, index in enumerate(missing, 1)}
        rows = yield NamedStatement(
            "enqueue.find",
            {
                **self._of(missing),
                "fresh_ids": [job.id for job in fresh.values()],
                "fresh_positions": [places[index] for index in fresh],
            },
        )
        found = {}
        for row in rows:
            index = missing[row["position"] - 1]
            if index not in fresh:
                state, taken = State(row["state"]), UUID(str(row["id"]))
                found[index] = Enqueued(taken, state, fresh=False, matches=row["matches"])
        return found

    def _of(self, wanted: Sequence[int]) -> dict[str, Any]:
        """The columns of some of the jobs."""
        return {
            name: [column[index] for index in wanted] if isinstance(column, list) and column else column
            for name, column in self._columns.items()
        }


def _answers(end: StopIteration) -> list[Enqueued]:
    answers: list[Enqueued] = end.value
    return answers


@contextmanager
def _same_database() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        code = getattr(error, "sqlstate", None) or getattr(getattr(error, "orig", None), "sqlstate", None)
        if code in _ELSEWHERE:
            raise InvalidInput(
                "connection", "is to another database than the app's", "connect it to the same one"
            ) from error
        raise
