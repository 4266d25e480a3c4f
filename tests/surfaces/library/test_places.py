"""Where the library may be called from: any loop, no loop, many threads, forked processes, no handler."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure import SchemaMismatch, State, StoreForbidden, StoreUnavailable, Tenure
from tenure.core.model.lease import Line
from tenure.execution.handler import context
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer
from tests.storage.backends import Backend
from tests.storage.verbs import claim, settle, succeeded
from tests.surfaces.command import environment, sql
from tests.surfaces.command import tenure as command


def define(app: Tenure) -> Any:
    @app.job("work")
    def work() -> Any: ...

    return work


def test_plain_code_has_every_method(backend: Backend) -> None:
    with Tenure(backend.address, settings=Settings()) as app:
        work = define(app)
        job = work.enqueue_sync(priority=3)
        assert job.status_sync() is State.QUEUED
        assert job.get_sync().priority == 3
        assert len(work.enqueue_many_sync([{}, {}])) == 2
        assert app.enqueue_sync("work").cancel_sync() is State.CANCELLED
        assert [event.type for event in job.events_sync()] == ["queued"]


async def test_plain_code_waits_too(app: Tenure, store: Store) -> None:
    work = define(app)
    job = await asyncio.to_thread(work.enqueue_sync)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(asyncio.to_thread(job.wait_sync, 10))
        [owned] = await claim(store, lines=[Line("default", "work")])
        await settle(store, [succeeded(owned, "7")])
    assert waiting.result() == 7


def test_one_loop_after_the_other_may_call(backend: Backend) -> None:
    app = Tenure(backend.address, settings=Settings())
    work = define(app)
    jobs = [asyncio.run(work.enqueue()) for _ in range(3)]
    assert asyncio.run(jobs[0].status()) is State.QUEUED
    app.close_sync()
    assert jobs[1].status_sync() is State.QUEUED  # closed is not the end
    app.close_sync()


def test_many_threads_share_one_loop(backend: Backend) -> None:
    with Tenure(backend.address, settings=Settings()) as app, ThreadPoolExecutor(16) as threads:
        work = define(app)
        jobs = list(threads.map(lambda _: work.enqueue_sync(), range(64)))
        loops = [thread for thread in threading.enumerate() if thread.name == "tenure-library"]
        assert len({job.id for job in jobs}) == 64
        assert len(loops) == 1


def test_a_forked_process_begins_anew(backend: Backend) -> None:
    """As under a server that forks: the child neither uses nor closes what the parent has opened."""
    with Tenure(backend.address, settings=Settings()) as app:
        work = define(app)
        first = work.enqueue_sync()
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # one that hangs must not outlive the test
            code = 1
            try:
                code = 0 if work.enqueue_sync(tags=["child"]).status_sync() is State.QUEUED else 1
                app.close_sync()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert first.status_sync() is State.QUEUED
        assert work.enqueue_sync().status_sync() is State.QUEUED


async def test_a_handlers_process_may_not_open_a_store(app: Tenure, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would write outside its lease, perhaps into a stray file; the error says what to use instead."""
    work = define(app)
    monkeypatch.setattr(context, "_confined", True)
    with pytest.raises(StoreForbidden, match=r"ctx\.enqueue\(.*ctx\.enqueue_sync\("):
        await work.enqueue()
    with pytest.raises(StoreForbidden, match=r"ctx\.enqueue"):
        await asyncio.to_thread(work.enqueue_sync)
    assert work.new_job().definition == "work"
    assert app.new_job("work", version=1).definition == "work"


async def test_a_fresh_file_is_migrated_by_itself(tmp_path: Path) -> None:
    async with Tenure(f"sqlite:///{tmp_path}/new.db", settings=Settings()) as app:
        assert await (await define(app).enqueue()).status() is State.QUEUED


async def test_many_may_find_a_fresh_file_at_once(tmp_path: Path) -> None:
    apps = [Tenure(f"sqlite:///{tmp_path}/new.db", settings=Settings()) for _ in range(8)]
    jobs = await asyncio.gather(*(define(app).enqueue() for app in apps))
    assert len({job.id for job in jobs}) == 8
    for app in apps:
        await app.close()


async def test_an_older_file_is_not_migrated_behind_its_owners_back(tmp_path: Path) -> None:
    """Several versions of a program may share it."""
    run(tmp_path)
    address = f"sqlite:///{tmp_path}/tenure.db"
    sql(address, "DELETE FROM tenure.migration WHERE number > 1")
    async with Tenure(address, settings=Settings()) as app:
        with pytest.raises(SchemaMismatch, match="run `tenure migrate`"):
            await define(app).enqueue()


async def test_postgresql_is_not_migrated_by_itself(postgres_server: PostgresServer) -> None:
    address = postgres_server.create_database(f"library_{os.urandom(6).hex()}")
    async with Tenure(address, settings=Settings()) as app:
        with pytest.raises(SchemaMismatch, match="run `tenure migrate`"):
            await define(app).enqueue()


async def test_a_database_that_was_not_there_may_come(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    async with Tenure(f"sqlite:///{folder}/new.db", settings=Settings()) as app:
        work = define(app)
        with pytest.raises(StoreUnavailable):
            await work.enqueue()
        folder.mkdir()
        assert await (await work.enqueue()).status() is State.QUEUED


PROGRAM = """
from tenure import Tenure

app = Tenure()

@app.job("work")
def work(): ...

print(work.enqueue_sync().id)
"""


def test_without_a_word_jobs_go_into_a_file_in_the_current_folder(tmp_path: Path) -> None:
    job = run(tmp_path)
    with Tenure(f"sqlite:///{tmp_path}/tenure.db", settings=Settings()) as app:
        assert app.handle(job).status_sync() is State.QUEUED


def test_a_file_that_the_library_makes_is_named_once(tmp_path: Path) -> None:
    """If a program is started in another folder than its worker, its jobs would wait there unseen."""
    assert errors_of_program(tmp_path) == (
        f"there was no database, so a new one was created: {tmp_path}/tenure.db; "
        "only workers that are started on this file run its jobs\n"
    )
    assert errors_of_program(tmp_path) == ""
    (tmp_path / "elsewhere").mkdir()
    assert f" created: {tmp_path}/elsewhere/tenure.db; " in errors_of_program(tmp_path / "elsewhere")


def test_of_a_file_that_was_there_nothing_is_said(tmp_path: Path) -> None:
    assert command(tmp_path, "migrate").returncode == 0
    assert errors_of_program(tmp_path) == ""


async def test_a_program_may_choose_where_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Tenure(f"sqlite:///{tmp_path}/new.db", settings=Settings()) as app:
        await define(app).enqueue()
    [record] = caplog.records
    assert (record.name, record.levelname) == ("tenure", "WARNING")


def test_an_app_shows_its_database_and_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    secret = "postgresql://me:hidden@here/db?password=hidden"
    assert repr(Tenure(secret, settings=Settings())) == "Tenure('postgresql://me:***@here/db?password=***')"
    assert repr(Tenure(settings=Settings())) == f"Tenure('sqlite:///{tmp_path}/tenure.db')"
    assert (
        repr(Tenure("sqlite:////srv/a.db", namespace="shop", settings=Settings()))
        == "Tenure('sqlite:////srv/a.db', namespace='shop')"
    )
    assert repr(Tenure("no address", settings=Settings())) == "Tenure('no address')"


def test_a_program_leaves_no_log_behind(tmp_path: Path) -> None:
    run(tmp_path)
    assert not list(tmp_path.glob("*-wal"))


def test_the_environment_says_where_jobs_go(tmp_path: Path) -> None:
    run(tmp_path, TENURE_DATABASE=f"sqlite:///{tmp_path}/other.db")
    assert (tmp_path / "other.db").is_file()
    assert not (tmp_path / "tenure.db").exists()


def run(folder: Path, **changed: str) -> str:
    """The id that a program of its own prints."""
    return _ran(folder, **changed).stdout.strip()


def errors_of_program(folder: Path) -> str:
    """What it writes to standard error."""
    return _ran(folder).stderr


def _ran(folder: Path, **changed: str) -> subprocess.CompletedProcess[str]:
    here = str(Path(tenure.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment(PYTHONPATH=here, **changed),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
