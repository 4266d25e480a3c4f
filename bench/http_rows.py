"""The rows of the server's bench: requests for jobs beside the same without storage, and one by hand."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench import processes
from bench.drain import LONGEST
from bench.figures import Measured, Round, figure_of
from bench.http_bare import registered
from bench.http_load import NATIVE, PLAIN, Load
from bench.measure import Contest, compared
from bench.place import Place
from bench.rows import Row
from bench.sites import PostgresSite, Site, SqliteSite
from tenure.storage.address import store_for

CONNECTIONS = 64
OTHERS = {"http-by-hand": "other"}
"""What stands beside a row, in the names of its figures, if not the product without storage."""

ROOT = Path(__file__).parent.parent

_logs = count(1)


class Target(NamedTuple):
    """A server that runs, what it costs, and what its calls took."""

    pid: int
    host: str
    port: str
    site: Site | None
    loads: list[Load]
    path: str = PLAIN

    def round(self, calls: int) -> Round:
        """One round of calls, by a crowd in a process of its own. The server's CPU is with its database's."""
        before = self._cpu()
        command = [
            sys.executable,
            "-m",
            "bench.http_load",
            self.host,
            self.path,
            self.port,
            str(calls),
            str(CONNECTIONS),
        ]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LONGEST, check=False)
        if ran.returncode:
            raise RuntimeError(ran.stderr.decode()[-2000:])
        found = msgspec.json.decode(ran.stdout, type=Load)
        self.loads.append(found)
        return Round(found.calls, found.seconds, found.cpu, self._cpu() - before)

    def _cpu(self) -> float:
        own = processes.cpu(self.pid) or 0.0
        return own + ((self.site.server_cpu() or 0.0) if self.site else 0.0)


def on_postgres(at: Place) -> Measured:
    """The server on PostgreSQL."""
    with closing(PostgresSite(at.postgres.database("http"))) as site:
        return _beside_nothing(at, site, "http-postgres")


def on_sqlite(at: Place) -> Measured:
    """The server on a file at FULL."""
    with closing(SqliteSite(at.sqlite("FULL"))) as site:
        return _beside_nothing(at, site, "http-sqlite")


def by_hand(at: Place) -> Measured:
    """`POST /v1/jobs` beside a handler that somebody would write by hand, on the same server."""
    site, table = (PostgresSite(at.postgres.database(name)) for name in ("http_native", "http_by_hand"))
    with closing(site), closing(table):
        other = (sys.executable, "-m", "bench.http_by_hand", table.address)
        asyncio.run(_register(site.address))
        with _serving(at, _durable(site), site, NATIVE) as kept, _serving(at, other, table, NATIVE) as hand:
            names = (f"{site.name}: `POST {NATIVE}`, {CONNECTIONS} connections", "Starlette and asyncpg")
            found = _contest(at, "http-by-hand", kept, hand, names)
            waits = [ours.p99 / theirs.p99 for ours, theirs in zip(kept.loads, hand.loads, strict=True)]
            return found + Measured([figure_of("http-by-hand-p99-ratio", waits, of="rounds")])


ROWS: dict[str, Row] = {
    "http-postgres": Row(on_postgres, 240),
    "http-sqlite": Row(on_sqlite, 240),
    "http-by-hand": Row(by_hand, 240),
}


def _beside_nothing(at: Place, site: Site, name: str) -> Measured:
    asyncio.run(_register(site.address))
    bare = (sys.executable, "-m", "bench.http_bare")
    with _serving(at, _durable(site), site) as kept, _serving(at, bare, None) as nothing:
        names = (f"{site.name}: `POST {PLAIN}`, {CONNECTIONS} connections", "the same without storage")
        return _contest(at, name, kept, nothing, names)


def _durable(site: Site) -> tuple[str, ...]:
    return (sys.executable, "-m", "tenure", "api", "--port", "0", "--database", site.address)


def _contest(at: Place, name: str, ours: Target, other: Target, names: tuple[str, str]) -> Measured:
    calls = at.size.http_calls
    for target in (ours, other):
        target.round(CONNECTIONS)  # so that everybody is connected and has read the definition
        target.loads.clear()
    contest = Contest(lambda: ours.round(calls), lambda: other.round(calls), *names)
    measured = compared(name, contest, pairs=at.size.pairs, watch=at.watch, deadline=at.deadline)
    other_name = f"{name}-{OTHERS.get(name, 'nothing')}"
    return measured + _waits(name, ours.loads) + _waits(other_name, other.loads)


def _waits(name: str, loads: list[Load]) -> Measured:
    """How long a caller waits for its answer, and how much of a core the crowd itself takes."""
    return Measured(
        [
            figure_of(f"{name}-p50", [load.median for load in loads], unit="ms", of="rounds"),
            figure_of(f"{name}-p99", [load.p99 for load in loads], unit="ms", of="rounds"),
            figure_of(
                f"{name}-crowd", [load.cpu / load.seconds for load in loads], unit="cores", of="rounds"
            ),
        ]
    )


@contextmanager
def _serving(at: Place, command: tuple[str, ...], site: Site | None, path: str = PLAIN) -> Iterator[Target]:
    log = at.folder / f"server-{next(_logs)}.log"
    with processes.started(command, log=log, folder=ROOT, environment=dict(os.environ)) as process:
        processes.await_line(" on ", log, process, seconds=LONGEST)
        found = re.search(r"http://(.+):(\d+) on ", log.read_text())
        if found is None:
            raise RuntimeError(f"a server did not say where it is, but:\n{log.read_text()}")
        yield Target(process.pid, found[1], found[2], site, [], path)


async def _register(address: str) -> None:
    store = store_for(address)
    await store.open()
    try:
        await store.migrate()
        await store.put_definitions([registered()])
    finally:
        await store.close()
