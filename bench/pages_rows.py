"""The rows of the pages' bench: every address that reads, with nothing in memory and then again and again."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple
from uuid import uuid4

from bench import past, processes
from bench.drain import LONGEST
from bench.figures import Measured, figure_of
from bench.following import followed
from bench.loop import run_on
from bench.place import Place
from bench.postgres import ask
from bench.rows import Row
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tenure.core.webhooks.delivery import NewDelivery
from tenure.core.webhooks.webhook import NewWebhook
from tenure.engine.figures.statistics import FRESH
from tenure.storage.address import store_for
from tests.storage.faults.own_server import OwnServer
from tests.surfaces.read_addresses import addresses

ROOT = Path(__file__).parent.parent
NAMED = past.LINES[6]
_API = ("/v1/", "/jobs/", "/tasks/")

_logs = count(1)


def on_postgres(at: Place) -> Measured:
    """Pages on PostgreSQL."""
    with OwnServer() as server:
        dsn = server.create_database("pages")
        run_on(None, _prepared(dsn))
        run_on(None, past.fill_postgres(dsn, at.size.past_jobs))
        names = run_on(None, _populated(dsn))
        ask(dsn, "VACUUM ANALYZE")
        ask(dsn, "CHECKPOINT")
        files = Path(str(ask(dsn, "SHOW data_directory")))

        def forget() -> None:
            server.stop_at_once()
            _evict(files)
            server.start_again()

        return _looked_at(at, "postgres", dsn, names, forget)


def on_sqlite(at: Place) -> Measured:
    """Pages on a file."""
    path = at.folder / "pages.db"
    address = f"sqlite:///{path}"
    run_on(None, _prepared(address))
    past.fill_sqlite(path, at.size.past_jobs)
    names = run_on(None, _populated(address))
    return _looked_at(at, "sqlite", address, names, lambda: _evict(path.parent))


ROWS: dict[str, Row] = {"pages-postgres": Row(on_postgres, 600), "pages-sqlite": Row(on_sqlite, 600)}


def _looked_at(
    at: Place, store: str, address: str, names: Mapping[str, str], forget: Callable[[], None]
) -> Measured:
    by_route = addresses(names)
    paths = [path for those in by_route.values() for path in those]
    cold: dict[str, float] = {}
    for path in paths[: at.size.cold_pages]:
        forget()
        with _serving(at, address) as server:
            cold[path] = server.visit(path)
    warm: dict[str, list[float]] = {path: [] for path in paths}
    with _serving(at, address) as server:
        for path in paths * (at.size.page_calls + 1):
            if _is_kept(path):
                time.sleep(FRESH + 0.1)
            warm[path].append(server.visit(path))
        changes = run_on(None, followed(server.url, address, at.size.watched_jobs))
    groups = {route: those for route, those in by_route.items() if not route.startswith(_API)}
    groups["the API"] = [path for path in paths if path.startswith(_API)]
    again = {route: max((warm[path][1:] for path in those), key=median) for route, those in groups.items()}
    once = {
        route: max(cold[path] for path in those if path in cold)
        for route, those in groups.items()
        if cold.keys() & set(those)
    }
    return Measured(
        [
            figure_of(f"page-{store}", max(again.values(), key=median), unit="ms", of="calls"),
            figure_of(f"page-cold-{store}", [max(once.values())], unit="ms"),
            figure_of(f"live-{store}", [max(changes)], unit="ms"),
            figure_of(f"live-{store}, all", changes, unit="ms", of="changes"),
            *(figure_of(f"{store} {name}", spent, unit="ms", of="calls") for name, spent in again.items()),
            *(figure_of(f"{store} {name}, cold", [spent], unit="ms") for name, spent in once.items()),
        ]
    )


def _is_kept(path: str) -> bool:
    """Whether what it shows is made once for all requests within two seconds."""
    return path.startswith(("/?", "/v1/stats"))


class Running(NamedTuple):
    """A server, and a connection to it."""

    url: str
    connection: HTTPConnection

    def visit(self, path: str) -> float:
        """Look at something; answers with the milliseconds until all of it was there."""
        began = time.perf_counter()
        self.connection.request("GET", path, headers={"accept": "text/html, application/json"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != HTTPStatus.OK:
            raise RuntimeError(f"{path} answered {answer.status}: {body.decode()[:500]}")
        return (time.perf_counter() - began) * 1e3


@contextmanager
def _serving(at: Place, address: str) -> Iterator[Running]:
    """A server that has just started."""
    log = at.folder / f"pages-{next(_logs)}.log"
    command = (sys.executable, "-m", "tenure", "api", "--port", "0", "--database", address)
    with processes.started(command, log=log, folder=ROOT, environment=dict(os.environ)) as process:
        processes.await_line(" on ", log, process, seconds=LONGEST)
        found = re.search(r"(http://(.+):(\d+)) on ", log.read_text())
        if found is None:
            raise RuntimeError(f"a server did not say where it is, but:\n{log.read_text()}")
        with closing(HTTPConnection(found[2], int(found[3]), timeout=LONGEST)) as connection:
            yield Running(found[1], connection)


def _evict(folder: Path) -> None:
    """Have the kernel forget what it keeps of all files here."""
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


async def _prepared(address: str) -> None:
    store = store_for(address)
    await store.open()
    await past.prepare(store)
    await store.close()


async def _populated(address: str) -> dict[str, str]:
    """Let work go on, and find something of every kind to look at."""
    store = store_for(address)
    await store.open()
    await past.employ(store)
    found = await store.page(past.ENDED_WELL, limit=1)
    now = await store.now()
    nightly = ScheduledJob(definition=NAMED.definition)
    daily = Recurrence(cron="@daily", starts_at=now)
    await store.add_schedule(NewSchedule(id="nightly", job=nightly, recurrence=daily), next_at=None)
    hook = NewWebhook(id=uuid4(), url="https://example.com/hook", events=("onEnd",))
    await store.add_webhook(hook, secret=None)
    await store.add_delivery(NewDelivery(webhook=hook.id, message="m", type="failed", at=now, body="{}"))
    await store.close()
    return {
        "jobId": str(found.jobs[0].id),
        "key": NAMED.definition,
        "version": "1",
        "definition": NAMED.definition,
        "queue": NAMED.queue,
        "tag": past.TAG,
        "fingerprint": f"{NAMED.definition}:{1:012}",
        "name": "nightly",
        "namespace": "default",
        "webhookId": str(hook.id),
        "message": "m",
        "moment": found.jobs[0].created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
