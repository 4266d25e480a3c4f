"""`tenure migrate --reset-clock`: a file whose clock is ahead goes on, and what waits by it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob, ScheduleName
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL as LINE
from tests.storage.verbs import job_in, state_of
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.store_behind import on

WORKER = WorkerInfo(id="ada-1", host="ada", pid=1, version="1", slots=1, lines=(LINE,))
RULE = Recurrence(every=timedelta(hours=1), starts_at=datetime(2020, 1, 1, tzinfo=UTC))
AHEAD = "UPDATE tenure_sequence SET n = n + 365 * 86400000000 WHERE name = 'clock'"


@pytest.fixture
def database(tmp_path: Path) -> str:
    database = f"sqlite:///{tmp_path}/jobs.db"
    assert tenure(tmp_path, "migrate", "--database", database).returncode == 0
    on(database, lambda store: store.enlist(WORKER))
    on(database, lambda store: store.dismiss(WORKER.id))
    sql(database, AHEAD)
    return database


async def _fill(store: Store) -> tuple[object, object]:
    running = await job_in(store, State.RUNNING)
    [delayed] = await store.enqueue([NewJob(definition="mail", delay=timedelta(minutes=1))])
    new = NewSchedule(id="hourly", job=ScheduledJob(definition="mail"), recurrence=RULE)
    await store.add_schedule(new, next_at=RULE.next_after(await store.now()))
    return running, delayed.id


def test_a_clock_that_is_ahead_is_named_and_set_back(tmp_path: Path, database: str) -> None:
    """S1.83: leases end, waits are as long as they were to be, and schedules go on from now."""
    running, delayed = on(database, _fill)
    doctor = tenure(tmp_path, "doctor", "--database", database)
    assert "clock-ahead" in doctor.stdout
    assert "tenure migrate --reset-clock" in doctor.stdout
    ran = tenure(tmp_path, "migrate", "--reset-clock", "--database", database)
    assert ran.returncode == 0, ran
    assert "1 leases ended, 1 waits and 1 schedules brought forward" in ran.stdout
    now = datetime.now(UTC)

    async def look(store: Store) -> None:
        assert abs(await store.now() - now) < timedelta(minutes=1)
        await store.reap(10)
        assert await state_of(store, running) is State.QUEUED  # type: ignore[arg-type]
        job = await store.get(delayed)  # type: ignore[arg-type]
        assert job is not None
        outlook = await store.outlook([])
        assert outlook.next_timer is not None
        assert outlook.next_timer - now < timedelta(minutes=2)
        schedule = await store.schedule(ScheduleName("default", "hourly"))
        assert schedule is not None
        assert schedule.next_at == RULE.next_after(now)

    on(database, look)
    again = tenure(tmp_path, "migrate", "--reset-clock", "--database", database)
    assert "not ahead" in again.stdout
    assert "clock-ahead" not in tenure(tmp_path, "doctor", "--database", database).stdout


def test_it_is_refused_while_a_worker_may_run(tmp_path: Path, database: str) -> None:
    on(database, lambda store: store.enlist(WORKER))
    ran = tenure(tmp_path, "migrate", "--reset-clock", "--database", database)
    assert fails(ran, 1, "worker ada-1 on ada may still run", "--workers-stopped")
    forced = tenure(tmp_path, "migrate", "--reset-clock", "--workers-stopped", "--database", database)
    assert (forced.returncode, forced.stderr) == (0, "")
    assert on(database, lambda store: store.workers()) == []


def test_the_clock_of_postgres_is_its_servers(tmp_path: Path, postgres_database: str) -> None:
    assert tenure(tmp_path, "migrate", "--database", postgres_database).returncode == 0
    ran = tenure(tmp_path, "migrate", "--reset-clock", "--database", postgres_database)
    assert fails(ran, 1, "its server's", "NTP")


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    both = tenure(tmp_path, "migrate", "--reset-clock", "--after-restore")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)
    alone = tenure(tmp_path, "migrate", "--workers-stopped")
    assert (alone.returncode, "--reset-clock" in alone.stderr) == (2, True)
