"""`tenure scheduler`: it fires schedules and queues due jobs, runs none, and stops in order."""

import re
import secrets
import signal
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob
from tests.surfaces.command import fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import MAIL, job_of, on, register
from tests.telemetry.scrape import Scrape
from tests.until import until_sync

NOW = datetime.now(UTC)
EVERY_SECOND = NewSchedule(
    id="often",
    job=ScheduledJob(definition="mail"),
    recurrence=Recurrence(every=timedelta(seconds=1), starts_at=NOW),
    remaining=2,
)
GONE = NewSchedule(
    id="gone",
    job=ScheduledJob(definition="no.such"),
    recurrence=Recurrence(every=timedelta(seconds=1), starts_at=NOW, ends_at=NOW + timedelta(hours=1)),
)


@pytest.mark.both_stores
def test_a_scheduler_fires_counts_and_ends_in_order(start: Start, migrated: str) -> None:
    """S1.7, S1.75: with no worker there, jobs are made, and what is due is queued."""
    register(migrated, MAIL)
    [late] = on(
        migrated, lambda store: store.enqueue([NewJob(definition="mail", delay=timedelta(seconds=1))])
    )
    for new in (EVERY_SECOND, GONE):
        on(migrated, lambda store, new=new: store.add_schedule(new, next_at=NOW))  # type: ignore[misc]
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"tenure-test-{secrets.token_hex(8)}"
    ear.bind("\0" + name)
    ear.settimeout(60)
    process = start(
        *("scheduler", "--database", migrated, "--metrics-port", "0"),
        NOTIFY_SOCKET=f"@{name}",
        TENURE_LOG_FORMAT="json",
    )
    assert process.stderr is not None
    said = ""
    while not (found := re.search(r"metrics at (http://127\.0\.0\.1:\d+)/metrics", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:

        def scraped() -> Scrape:
            return Scrape(client.get("/metrics").content)

        until_sync(lambda: scraped().value("tenure_ticks_total", outcome="fired") == 2)
        until_sync(lambda: scraped().value("tenure_ticks_total", outcome="failed") > 0)
        assert scraped().value("tenure_tick_lateness_seconds_count") == 2
        until_sync(lambda: job_of(migrated, str(late.id)).state is State.QUEUED)
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.get("/v1/jobs").status_code == 404
    page = on(migrated, lambda store: store.page(Filter(states=frozenset(State)), limit=10))
    assert [job.state for job in page.jobs] == [State.QUEUED] * 3
    assert "READY=1" in ear.recv(4096).decode()
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    ear.close()
    assert process.returncode == 0, rest
    said += rest
    assert '"level":"info","event":"schedule.ticked","schedule":"often"' in said
    assert '"level":"warning","event":"schedule.ticked","schedule":"gone"' in said


def test_what_keeps_a_scheduler_from_starting_is_named(tmp_path: Path, unreachable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        ran = tenure(tmp_path, "scheduler", "--database", unreachable, "--metrics-port", number)
    assert fails(ran, 2, "metrics_port", number)
    assert fails(tenure(tmp_path, "scheduler", "--database", unreachable), 3)
