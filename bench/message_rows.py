"""The rows of the bench of messages: a drain that they lead, beside one as usual."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from bench.drain import drain
from bench.figures import Measured, Round
from bench.loop import run_on
from bench.measure import Contest, compared
from bench.place import Place
from bench.rows import Row
from bench.sites import PostgresSite, Site, SqliteSite
from bench.stamps import Stamps
from bench.tenure_worker import TenureQueue
from chaos.messages.broker import Broker

SLOTS = 10
_logs = count(1)


class LedQueue(TenureQueue):
    """A worker that messages lead to jobs, and a program that sends them."""

    def __init__(self, site: Site, folder: Path, variables: Mapping[str, str]) -> None:
        super().__init__(site, folder, slots=SLOTS, lane="async")
        self._variables = dict(variables)

    def fill(self, jobs: int, stamps: Path) -> None:
        """Put them in line, and have each named."""
        with _set(self._variables):
            super().fill(jobs, stamps)


def drain_row(at: Place) -> Measured:
    """Jobs are in line and their messages in the queue; sweeps are an hour apart."""
    found, broker = Measured(), Broker()
    run_on(None, broker.open())
    try:
        for site in (PostgresSite(at.postgres.database("messages")), SqliteSite(at.sqlite("FULL"))):
            with closing(site):
                led = LedQueue(site, at.folder, broker.variables)
                usual = TenureQueue(site, at.folder, slots=SLOTS, lane="async")
                contest = Contest(
                    partial(_one_drain, at, led),
                    partial(_one_drain, at, usual),
                    f"{site.name}: drain, lane async, led by messages of moto's server",
                    f"{site.name}: drain, lane async, without messages",
                )
                name = "drain-by-messages" + ("" if isinstance(site, PostgresSite) else "-sqlite")
                found += compared(
                    name, contest, pairs=at.size.side_pairs, watch=at.watch, deadline=at.deadline
                )
    finally:
        run_on(None, broker.close())
    return found


ROWS: dict[str, Row] = {"drain": Row(drain_row, 280)}


def _one_drain(at: Place, queue: TenureQueue) -> Round:
    return drain(queue, Stamps(at.folder / f"message-drain-{next(_logs)}"), jobs=at.size.drain_jobs)


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
