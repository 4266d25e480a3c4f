"""Rounds on SQLite through the real store, and the yardstick they are held against.

The yardstick runs the very same scripts on the same library with the rows staying inside SQLite: the jobs to
settle are put into the scratch table from the lease row of the turn before, by one statement, and the answer
is counted column by column instead of being handed out. What is left of Python is some twenty calls a turn,
none of which grows with the batch; there is no event loop, no second thread, no value to convert. The sqlite
shell would be free of Python altogether, but it prepares every statement anew, formats the answer as text,
and is seldom the SQLite that apsw brings. Transaction, savepoint, clock and commit are those of the store's
writer.
"""

import re
import time
from pathlib import Path
from typing import Any

import apsw
from apsw.ext import query_info

from bench import loop
from bench.figures import Round
from bench.loop import LINE, WORKER, run_on
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.storage.sqlite import scripts
from tenure.storage.sqlite.file.clock import StoreClock
from tenure.storage.sqlite.file.connection import Durability, Opening, open_writer
from tenure.storage.sqlite.store import SqliteStore

MODES: dict[str, Durability] = {"FULL": "full", "NORMAL": "normal"}
"""How durable a commit is, by SQLite's name for it and by ours."""

_GIVEN = re.compile(r"INSERT INTO (?P<table>\S+) \((?P<columns>[^)]*)\)\s+VALUES \([?, ]*\)")
_SUCCESS = {
    "place": "lease_job.key + 1",
    "job": "lease_job.value",
    "fence": "lease.id",
    "ending": "'succeeded'",
    "result": "'null'",
}
_LINES = f'[["{LINE.queue}","{LINE.definition}",{LINE.version}]]'
_LEASE = """
  FROM tenure_lease lease JOIN json_each(lease.jobs) lease_job
 WHERE lease.id = (SELECT n FROM tenure_sequence WHERE name = 'fence')
 ORDER BY lease_job.value
"""


class SqliteFile:
    """A database file with a stock of queued jobs."""

    def __init__(self, path: Path, mode: str = "FULL") -> None:
        self.path = path
        self.mode = mode
        self._stock = 0
        run_on(None, _migrate(path))

    def store(self) -> SqliteStore:
        """A store on it, not yet opened."""
        return SqliteStore(self.path, durability=MODES[self.mode])

    def stock(self, jobs: int) -> None:
        """See to it that so many jobs stand in line."""
        if self._stock < jobs:
            missing = jobs - self._stock
            self.timed(lambda store: loop.fill(store, missing))
            self._stock = jobs

    def turns(self, *, batch: int, turns: int) -> Round:
        """Settle and claim from the stock."""
        self._take(batch * turns)
        return self.timed(lambda store: loop.turns(store, batch=batch, count=turns))

    def turns_inside(self, *, batch: int, turns: int) -> Round:
        """The same turns by the yardstick."""
        self._take(batch * turns)
        connection = open_writer(self.path, Opening(durability=MODES[self.mode]))
        try:
            return _turns_inside(connection, batch, turns)
        finally:
            connection.close()

    def bulk_enqueues(self, jobs: int) -> Round:
        """As many jobs a second as a few callers can bring in large batches."""
        self._stock += jobs
        return self.timed(lambda store: loop.fill(store, jobs))

    def single_enqueues(self, *, calls: int, callers: int) -> Round:
        """Many callers at once, each with one job a call."""
        self._stock += calls
        return self.timed(lambda store: loop.fill(store, calls, batch=1, callers=callers))

    def round_trips(self, count: int) -> Round:
        """How long it takes to ask for nothing."""
        return self.timed(lambda store: loop.round_trips(store, count))

    def _take(self, jobs: int) -> None:
        if self._stock < jobs:
            self.stock(jobs * 4)
        self._stock -= jobs

    def timed(self, work: loop.Work) -> Round:
        """One round on a store of its own; opening it is not part of it."""

        async def round_() -> Round:
            store = self.store()
            await store.open()
            try:
                return await work(store)
            finally:
                await store.close()

        return run_on(None, round_())


def _turns_inside(connection: apsw.Connection, batch: int, turns: int) -> Round:
    *moves, answer = _script(connection)
    clock = StoreClock(connection)
    values: dict[str, Any] = {
        "worker": WORKER,
        "lease_for": 30_000_000,
        "limit": batch,
        "most_suspensions": MOST_SUSPENSIONS,
        "lines": _LINES,
        "scope": _LINES,
        "turn": 0,
        "step": None,
        "further": 0,
    }
    claimed = settled = 0
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(turns):
        connection.execute("BEGIN IMMEDIATE")
        turn = clock.read(connection)
        connection.execute("SAVEPOINT task")
        values["now"], values["mark"] = turn
        for move in moves:
            connection.execute(move, values)
        newly_claimed, newly_settled, *_ = connection.execute(answer, values).get
        connection.execute("RELEASE task")
        clock.keep(connection, turn)
        connection.execute("COMMIT")
        settled += newly_settled
        claimed += newly_claimed
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    if claimed != batch * turns or settled < batch * (turns - 1):
        raise RuntimeError(
            f"the yardstick claimed {claimed:,} jobs of {batch * turns:,} and settled {settled:,}"
        )
    return Round(claimed, seconds, cpu)


def _script(connection: apsw.Connection) -> list[str]:
    """The statements of one turn, with what comes in and what goes out kept inside SQLite."""
    texts = [scripts._CLEAR]
    for part, text in scripts.Scripts().parts_of("settle_and_claim"):
        if part == "given":
            texts.append(_given_from_lease(text))
        elif part == "answer":
            texts.append(_counted(connection, text))
        else:
            texts.append(text)
    return texts


def _given_from_lease(text: str) -> str:
    given = _GIVEN.fullmatch(text)
    if given is None:
        raise RuntimeError(f"the yardstick cannot read the part `given`: {text}")
    columns = (_SUCCESS.get(column.strip(), "NULL") for column in given["columns"].split(","))
    return f"INSERT INTO {given['table']} ({given['columns']}) SELECT {', '.join(columns)} {_LEASE}"


def _counted(connection: apsw.Connection, text: str) -> str:
    """All columns are read, none is handed out: how many were claimed and how many settled comes first."""
    names = [name for name, _ in query_info(connection, text).description if name != "job"]
    settled = "coalesce(sum(json_array_length(places)), 0)"
    return f"SELECT count(job), {settled}, {', '.join(f'count({name})' for name in names)} FROM ({text})"


async def _migrate(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.migrate()
    await store.close()
