"""Jobs recorded by a connection of the caller's own to the PostgreSQL database.

What is asked of the connection, and in which order, is written once, as a generator that yields statements
and is sent their rows; whoever drives it knows how its driver is asked.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.core.job import Enqueued, NewJob
from tenure.core.states import State
from tenure.storage.draft import Connection
from tenure.storage.postgres import borrowed
from tenure.storage.postgres.borrowed import Asked, Rows

_HINTS = {State.QUEUED: "queued ", State.SCHEDULED: "timed "}
"""As `wakeups` sends them, from nobody in particular; PostgreSQL passes them on after the commit."""

_ELSEWHERE = {"23502", "3F000", "42P01"}
"""What the database says where a line, the schema or its tables are not as in the app's own database."""

Steps = Generator[Asked, Rows, list[Enqueued]]


class PostgresDraft:
    """New jobs, as the columns that the statement which records them takes."""

    def __init__(self, jobs: Sequence[NewJob], columns: Mapping[str, Any]) -> None:
        self._jobs = jobs
        self._columns = columns

    def record(self, connection: Connection) -> list[Enqueued]:
        fetch = borrowed.plain(connection)
        if fetch is None:
            raise InvalidInput("connection", "is asynchronous", "await the method without _sync")
        steps = self._steps()
        with _same_database():
            try:
                asked = next(steps)
                while True:
                    asked = steps.send(fetch(asked))
            except StopIteration as end:
                return _answers(end)

    async def record_async(self, connection: Connection) -> list[Enqueued]:
        if borrowed.plain(connection) is not None:
            return self.record(connection)
        fetch = await borrowed.awaited(connection)
        steps = self._steps()
        with _same_database():
            try:
                asked = next(steps)
                while True:
                    asked = steps.send(await fetch(asked))
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
            yield Asked("listen", {"hint": _HINTS[state]})
        return [answers[index] for index in sorted(answers)]

    def _record(self, missing: Sequence[int]) -> Generator[Asked, Rows, dict[int, Enqueued]]:
        """Record these jobs; answers with those whose key and id were free."""
        rows = yield Asked("enqueue.record+keys", self._of(missing))
        fresh = {}
        for row in rows:
            index = missing[row["position"] - 1]
            fresh[index] = Enqueued(self._columns["ids"][index], State(row["state"]), fresh=True)
        return fresh

    def _find(
        self, missing: Sequence[int], fresh: Mapping[int, Enqueued]
    ) -> Generator[Asked, Rows, dict[int, Enqueued]]:
        """Who took the keys of the others; nobody, where whoever had one is gone again by now."""
        places = {index: place for place, index in enumerate(missing, 1)}
        rows = yield Asked(
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
