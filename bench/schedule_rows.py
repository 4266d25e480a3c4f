"""The rows of the bench of schedules: ten thousand of them due at once, beside a drain, and due some day."""

import os
import sys
import time
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

from bench import processes
from bench.drain import LONGEST
from bench.figures import Measured, Round, Speed, figure_of
from bench.measure import Contest, compared
from bench.place import Place
from bench.rows import Row
from bench.sites import PostgresSite, Site, SqliteSite
from bench.stamps import Stamps
from bench.tenure_worker import TenureQueue, idle
from bench.timetable import Timetable

ROOT = Path(__file__).parent.parent
MINUTE = 60.0
LOOK_EVERY = 0.02
SLOTS = 4
RATE = 40_000
"""Jobs a second of a drain, at most: so many are in line that it never ends."""

_logs = count(1)


def firing_row(at: Place) -> Measured:
    """All due at once, and `tenure scheduler` alone to fire them."""
    found = Measured()
    for site in (_postgres(at, "firing"), _sqlite(at)):
        with closing(site):
            table = Timetable(site, at.size.schedules)
            rounds = [_one_firing(at, site, table) for _ in range(at.size.side_pairs)]
            name = f"firing{_suffix(site)}"
            found += Measured(
                [figure_of(name, [each.seconds for each in rounds], unit="s", of="rounds")],
                [Speed(f"{site.name}: {table.count:,} schedules fire", rounds, "ticks")],
            )
    return found


def beside_row(at: Place) -> Measured:
    """A drain while they fire at this pace, beside a drain while they do not."""
    return _beside(at, _postgres(at, "beside"))


def beside_sqlite_row(at: Place) -> Measured:
    """The same on SQLite."""
    return _beside(at, _sqlite(at))


def idle_row(at: Place) -> Measured:
    """A worker with nothing to do, with and without schedules that are not due."""
    found = Measured()
    for site, bare in (
        (_postgres(at, "due_some_day"), _postgres(at, "no_schedules")),
        (_sqlite(at), _sqlite(at)),
    ):
        with closing(site), closing(bare):
            Timetable(site, at.size.schedules)
            seen, without = (
                idle(
                    TenureQueue(one, at.folder),
                    one.database if isinstance(one, PostgresSite) else None,
                    seconds=at.size.idle_seconds,
                )
                for one in (site, bare)
            )
            figures = [
                figure_of(
                    f"idle-more-cpu{_suffix(site)}", [1e3 * (seen.cpu - without.cpu)], unit="ms a second"
                ),
                figure_of(f"idle-cpu-scheduled{_suffix(site)}", [1e3 * seen.cpu], unit="ms a second"),
                figure_of(f"idle-cpu-bare{_suffix(site)}", [1e3 * without.cpu], unit="ms a second"),
            ]
            if seen.queries is not None and without.queries is not None:
                figures.append(
                    figure_of("idle-more-queries", [seen.queries - without.queries], unit="a second")
                )
                figures.append(figure_of("idle-queries-scheduled", [seen.queries], unit="a second"))
            found += Measured(figures)
    return found


ROWS: dict[str, Row] = {
    "firing": Row(firing_row, 280),
    "beside": Row(beside_row, 210),
    "beside-sqlite": Row(beside_sqlite_row, 210),
    "idle": Row(idle_row, 280),
}


def _one_firing(at: Place, site: Site, table: Timetable) -> Round:
    """From the first tick to the last, with the CPU of the scheduler and of the server."""
    log = at.folder / f"scheduler-{next(_logs)}.log"
    command = (sys.executable, "-m", "tenure", "scheduler", "--database", site.address)
    with processes.started(command, log=log, folder=ROOT, environment={**os.environ, "NO_COLOR": "1"}) as one:
        processes.await_line("runs no jobs", log, one, seconds=LONGEST)
        table.await_minute()
        table.make_due()
        deadline = time.monotonic() + LONGEST
        while (left := table.waiting()) == table.count:
            _expect_time(deadline)
            time.sleep(LOOK_EVERY)
        began, client, server = time.monotonic(), processes.cpu(one.pid), site.server_cpu()
        ticks = left
        while left:
            _expect_time(deadline)
            time.sleep(LOOK_EVERY)
            left = table.waiting()
        return Round(
            ticks,
            time.monotonic() - began,
            (processes.cpu(one.pid) or 0.0) - (client or 0.0),
            None if server is None else (site.server_cpu() or 0.0) - server,
        )


def _beside(at: Place, site: PostgresSite | SqliteSite) -> Measured:
    with closing(site):
        seconds = at.size.beside_seconds
        table = Timetable(site, round(at.size.schedules * seconds / MINUTE))
        draining = _Draining(at, site, table)
        contest = Contest(
            partial(draining.round, fires=True),
            partial(draining.round, fires=False),
            f"{site.name}: drain, lane async, while {table.count:,} schedules fire in {seconds:g} s",
            f"{site.name}: drain, lane async, while none fires",
        )
        name = f"drain-beside-firing{_suffix(site)}"
        return compared(name, contest, pairs=at.size.side_pairs, watch=at.watch, deadline=at.deadline)


class _Draining:
    """A line that never ends, drained by a worker for a while at a time."""

    def __init__(self, at: Place, site: Site, table: Timetable) -> None:
        self._seconds = at.size.beside_seconds
        self._stamps = Stamps(at.folder / f"beside-{next(_logs)}")
        self._queue = TenureQueue(site, at.folder, slots=SLOTS, lane="async")
        self._table = table
        self._filled = 0

    def round(self, *, fires: bool) -> Round:
        """What is drained from when the schedules are due until the time is up; by then all have fired."""
        wanted = round(RATE * (self._seconds + 2)) - (self._filled - len(self._stamps))
        if wanted > 0:
            self._queue.fill(wanted, self._stamps.path)
            self._filled += wanted
        self._table.put_off()
        self._table.await_minute()
        before = len(self._stamps)
        with self._queue.at_work():
            self._stamps.reach(before + RATE // 10, seconds=LONGEST)
            if fires:
                self._table.make_due()
            began = time.monotonic()
            time.sleep(self._seconds)
            ended = time.monotonic()
            left = self._table.waiting() if fires else 0
        if left:
            raise RuntimeError(
                f"{left:,} of {self._table.count:,} schedules had not fired after {self._seconds:g} s"
            )
        done = sum(began <= moment < ended for moment in self._stamps.read()[before:])
        if len(self._stamps) == self._filled:
            raise RuntimeError("the line ended before the time was up")
        return Round(done, ended - began)


def _postgres(at: Place, name: str) -> PostgresSite:
    return PostgresSite(at.postgres.database(f"schedules_{name}"))


def _sqlite(at: Place) -> SqliteSite:
    return SqliteSite(at.sqlite("FULL"))


def _suffix(site: Site) -> str:
    return "" if site.name == PostgresSite.name else f"-{site.name.lower()}"


def _expect_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"some schedules had not fired after {LONGEST:g} s")
