"""What a worker says on its console: lines of jobs, how it stops, and `--reload`."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.surfaces.command import fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import job_of
from tests.until import until_sync

APP = """
import logging, pathlib, time
from tenure import Tenure

app = Tenure()
log = logging.getLogger("shop.mail")

@app.job("send")
def send(params: dict) -> str:
    log.warning("no answer", extra={"to": "ada", "token": "s3cret"})
    print("printed")
    return "VERSION"

@app.job("flood")
def flood() -> None:
    for n in range(9_000):
        print("flood", n, "x" * 80)

@app.job("wait")
def wait(params: dict) -> str:
    pathlib.Path(params["began"]).touch()
    while not pathlib.Path(params["go"]).exists():
        time.sleep(0.01)
    return "VERSION"
"""


class Shop:
    """The source file of an app, which the test rewrites, and the jobs of it."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        self.began, self.go = folder / "began", folder / "go"

    def write(self, version: str, more: str = "") -> None:
        (self.folder / "shop.py").write_text(APP.replace("VERSION", version) + more)

    def enqueue(self, definition: str, *flags: str, **params: object) -> str:
        given = ("--params", json.dumps(params), "--database", self.database, *flags)
        ran = tenure(self.folder, "enqueue", definition, *given)
        assert ran.returncode == 0, ran
        return ran.stdout.splitlines()[-1] if "--wait" in flags else ran.stdout.strip()

    def begin_waiting(self) -> str:
        job = self.enqueue("wait", began=str(self.began), go=str(self.go))
        until_sync(self.began.exists)
        return job


@pytest.fixture
def shop(tmp_path: Path, migrated: str) -> Shop:
    made = Shop(tmp_path, migrated)
    made.write("one")
    return made


def wait_for(running: "subprocess.Popen[str]", words: str) -> list[str]:
    """Read what it says up to a line with these words."""
    assert running.stderr is not None
    lines: list[str] = []
    for line in running.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"it ended without {words!r}: {lines[-5:]}")


def test_lines_of_jobs_are_shown_as_they_come_if_asked_for(shop: Shop, start: Start) -> None:
    running = start("worker", "shop:app", "--database", shop.database, "--logs", TENURE_LOG_FORMAT="json")
    wait_for(running, "worker.ready")
    assert shop.enqueue("send", "--wait") == '"one"'
    lines = [json.loads(line) for line in wait_for(running, "attempt.settled")]
    shown = {line["message"]: line for line in lines if line["event"] == "attempt.line"}
    assert (shown["printed"]["line"], shown["printed"]["level"]) == ("stdout", "info")
    logged = shown["no answer"]
    assert (logged["line"], logged["level"], logged["definition"], logged["attempt"]) == (
        *("warning", "warning", "send"),
        1,
    )
    assert logged["fields"] == {"to": "ada", "token": "[redacted]", "logger": "shop.mail"}


def test_a_flood_of_lines_that_nobody_reads_holds_up_no_job(shop: Shop, start: Start) -> None:
    """They are dropped and counted, and what the worker itself has to say is not lost among them."""
    running = start("worker", "shop:app", "--database", shop.database, "--logs", TENURE_LOG_FORMAT="console")
    wait_for(running, "serves")
    for _ in range(3):
        assert shop.enqueue("flood", "--wait") == "null"
    running.send_signal(signal.SIGTERM)
    lines = wait_for(running, "has stopped")
    assert any(" attempt 1 stdout | flood 0 x" in line for line in lines)
    assert any("dropped: standard error was read too slowly" in line for line in lines)
    assert sum(" attempt 1 succeeded" in line for line in lines) == 3
    assert running.wait(60) == 0


def test_without_being_asked_a_worker_shows_no_lines(shop: Shop, start: Start) -> None:
    running = start("worker", "shop:app", "--database", shop.database, TENURE_LOG_FORMAT="console")
    wait_for(running, "serves")
    shop.enqueue("send", "--wait")
    lines = wait_for(running, "succeeded")
    assert not [line for line in lines if "printed" in line or "no answer" in line]
    running.send_signal(signal.SIGTERM)
    assert "stops (told by SIGTERM); no job is running" in wait_for(running, "stops")[-1]
    assert running.wait(60) == 0


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_ctrl_c_says_how_long_it_waits_and_what_a_second_one_did(
    shop: Shop, start: Start, command: str
) -> None:
    more = ("--port", "0") if command == "serve" else ()
    running = start(
        *(command, "shop:app", "--database", shop.database, "--shutdown-seconds", "90", *more),
        TENURE_LOG_FORMAT="console",
    )
    wait_for(running, "serves")
    job = shop.begin_waiting()
    running.send_signal(signal.SIGINT)
    said = wait_for(running, "stops (told by SIGINT)")[-1]
    assert "1 job is running; waits up to 90 s for it (Ctrl-C again ends it at once)" in said
    running.send_signal(signal.SIGINT)
    said = wait_for(running, "ends 1 job")[-1]
    assert "(told again, by SIGINT); to be handed back costs them no attempt" in said
    wait_for(running, "handed back, queued")
    assert running.wait(60) == 130
    assert (job_of(shop.database, job).state, job_of(shop.database, job).attempt) == ("queued", 0)


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_a_change_of_the_code_is_followed_and_what_runs_ends_with_the_old_code(
    shop: Shop, start: Start, command: str
) -> None:
    """From code that cannot be imported, over two versions of it, to one that cannot be imported again."""
    shop.write("one", "def (")
    more = ("--port", "0") if command == "serve" else ()
    running = start(
        *(command, "shop:app", "--database", shop.database, "--reload", *more), TENURE_LOG_FORMAT="console"
    )
    lines = wait_for(running, "nothing is claimed until a file changes")
    assert any("for development, not for production" in line for line in lines)
    shop.write("one")
    wait_for(running, "serves 3 line(s)")
    old = shop.begin_waiting()

    shop.write("two", '\n@app.job("new")\ndef new() -> str:\n    return "made"\n')
    wait_for(running, "serves 4 line(s)")
    assert shop.enqueue("send", "--wait") == '"two"'
    assert shop.enqueue("new", "--wait") == '"made"'
    shop.go.touch()
    until_sync(lambda: job_of(shop.database, old).state == "succeeded")
    assert job_of(shop.database, old).result == '"one"'

    shop.write("two", "\nraise RuntimeError('not today')\n")
    lines = wait_for(running, "nothing is claimed until a file changes")
    assert "RuntimeError: not today" in lines[-1]
    place = f'File "{os.path.realpath(shop.folder / "shop.py")}", line {APP.count(chr(10)) + 2}'
    assert any(place in line for line in lines)
    left = shop.enqueue("send")
    shop.write("four")
    until_sync(lambda: job_of(shop.database, left).result == '"four"')
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 0


def test_a_server_without_an_app_has_no_jobs_to_show(tmp_path: Path) -> None:
    assert fails(tenure(tmp_path, "serve", "--logs"), 2, "--logs", "no app is given")
    assert fails(tenure(tmp_path, "serve", "--reload"), 2, "--reload", "no app is given")
