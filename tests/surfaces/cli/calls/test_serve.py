"""`tenure serve`: requests, jobs and duties in one process, which stops in order and ends as one."""

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tests.surfaces.command import fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.http.http_server import request
from tests.surfaces.store_behind import job_of, on
from tests.until import until_sync

APP = """
from pathlib import Path

from tenure import Tenure

app = Tenure()


@app.job("wait", grace=1)
def wait(params: dict) -> str:
    Path(params["begun"]).touch()
    while not Path(params["end"]).exists():
        pass
    return "done"
"""
BOUND = 60.0
"""Seconds within which everything here has long ended; who needs them hangs."""


class Served(NamedTuple):
    """A command that serves, and a client for it."""

    process: "subprocess.Popen[str]"
    client: httpx.Client

    @property
    def address(self) -> tuple[str, int]:
        return self.client.base_url.host, self.client.base_url.port or 0

    def told_to_stop(self) -> str:
        """Send a signal; answers with all it says until its end, which must be a good one."""
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=BOUND)[1]
        assert self.process.returncode == 0, said
        return said


@pytest.fixture(autouse=True)
def app(tmp_path: Path, database: str) -> None:
    """The app's module where the command looks for it, and a database with its schema."""
    (tmp_path / "app.py").write_text(APP)
    on(database, lambda store: store.verify())


@contextmanager
def served(start: Start, database: str, *arguments: str) -> Iterator[Served]:
    """The command, as soon as it is ready."""
    process = start("serve", *arguments, "--database", database, "--port", "0")
    assert process.stderr is not None
    said = ""
    while not (found := re.search(r"^(http://127\.0\.0\.1:\d+) on ", said, re.MULTILINE)):
        line = process.stderr.readline()
        assert line, said
        said += line
    with httpx.Client(base_url=found[1], timeout=BOUND, trust_env=False) as client:
        until_sync(lambda: client.get("/readyz").status_code == 200, BOUND)
        yield Served(process, client)


def wish(folder: Path, name: str) -> dict[str, str]:
    """Params of a job that says that it has begun, and waits to be let go."""
    return {"begun": str(folder / f"{name}-begun"), "end": str(folder / f"{name}-end")}


def submit(client: httpx.Client, params: dict[str, str]) -> str:
    """The id of a job."""
    reply = client.post("/jobs", json={"jobType": "wait", "payload": params, "idempotencyKey": str(params)})
    assert reply.status_code == 202
    job: str = reply.json()["jobId"]
    return job


def until_there(path: str) -> None:
    until_sync(Path(path).exists, BOUND)


def until_said(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stderr is not None
    while words not in (line := process.stderr.readline()):
        assert line


def until_refused(address: tuple[str, int]) -> None:
    def is_refused() -> bool:
        try:
            socket.create_connection(address, timeout=BOUND).close()
        except ConnectionError:
            return True
        return False

    until_sync(is_refused, BOUND)


@pytest.mark.both_stores
def test_one_command_takes_jobs_runs_them_and_answers_meanwhile(
    start: Start, database: str, tmp_path: Path
) -> None:
    """S3.14, S3.15: from the request to the result; code that never rests keeps no request waiting."""
    with served(start, database, "app:app") as one, ThreadPoolExecutor() as threads:
        job = submit(one.client, params := wish(tmp_path, "a"))
        until_there(params["begun"])
        waiting = threads.submit(one.client.get, f"/v1/jobs/{job}/result?waitSeconds=30")
        assert one.client.get(f"/jobs/{job}").json()["status"] == "RUNNING"
        Path(params["end"]).touch()
        assert waiting.result(BOUND).json()["result"] == "done"
        one.told_to_stop()


def test_it_stops_in_order(start: Start, database: str, tmp_path: Path) -> None:
    """S3.54, S3.56: requests first; while one is under way jobs are claimed; then what runs is waited for."""
    with served(start, database, "app:app") as one:
        before = submit(one.client, ran := wish(tmp_path, "before"))
        until_there(ran["begun"])
        last = wish(tmp_path, "last")
        body = json.dumps({"definitionKey": "wait", "params": last}).encode()
        with socket.create_connection(one.address, timeout=BOUND) as half_sent:
            headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            half_sent.sendall(request(headers=headers) + body[:5])
            assert one.client.get("/healthz").status_code == 200
            one.client.close()
            one.process.send_signal(signal.SIGTERM)
            until_refused(one.address)
            between = wish(tmp_path, "between")
            new = NewJob(definition="wait", params=write(between))
            on(database, lambda store: store.enqueue([new]))
            until_there(between["begun"])
            half_sent.sendall(body[5:])
            late = half_sent.makefile("rb").read()
        assert late.startswith(b"HTTP/1.1 202")
        for params in (ran, between, last):
            Path(params["end"]).touch()
        said = one.process.communicate(timeout=BOUND)[1]
        assert one.process.returncode == 0
        assert '"event":"worker.draining"' in said
        assert '"reason":"told by SIGTERM"' in said
        assert job_of(database, before).state is State.SUCCEEDED


@pytest.mark.parametrize("cause", ["a second signal", "the deadline"])
def test_what_does_not_end_in_time_is_killed_and_handed_back(
    start: Start, database: str, tmp_path: Path, cause: str
) -> None:
    """S3.55, S3.57: the job waits for another worker, and its attempt is not counted."""
    seconds = "0.1" if cause == "the deadline" else "600"
    with served(start, database, "app:app", "--shutdown-seconds", seconds) as one:
        job = submit(one.client, params := wish(tmp_path, "a"))
        until_there(params["begun"])
        one.client.close()
        one.process.send_signal(signal.SIGINT)
        if cause == "a second signal":
            until_refused(one.address)
            one.process.send_signal(signal.SIGINT)
        one.process.communicate(timeout=BOUND)
        assert one.process.returncode == (130 if cause == "a second signal" else 0)
    left = job_of(database, job)
    assert (left.state, left.attempt) == (State.QUEUED, 0)


def test_without_an_app_requests_and_duties_are_served(start: Start, database: str, tmp_path: Path) -> None:
    """S3.27: nobody runs jobs, and they are taken all the same; the clock's work is done for them."""
    with served(start, database, "app:app") as one:
        one.told_to_stop()
    with served(start, database) as one:
        body = {"definitionKey": "wait", "params": wish(tmp_path, "a"), "delaySeconds": 0.2}
        job = one.client.post("/v1/jobs", json=body).json()
        assert job["status"] == "scheduled"
        place = f"/v1/jobs/{job['jobId']}"
        until_sync(lambda: one.client.get(place).json()["status"] != "scheduled")
        assert one.client.get(place).json()["status"] == "queued"
        assert one.client.get("/v1/workers").json() == {"items": [], "nextCursor": None}
        one.told_to_stop()


def test_it_says_that_no_job_is_run(start: Start, database: str) -> None:
    process = start("serve", "--database", database, "--port", "0")
    assert process.stderr is not None
    assert "runs the duties, but no jobs" in process.stderr.readline()


def test_a_worker_that_is_drained_claims_no_more_and_the_server_stays(
    start: Start, database: str, tmp_path: Path
) -> None:
    """S3.54: what runs comes to its end, what comes is another's, and clients see nothing of it."""
    with served(start, database, "app:app", "--lease-seconds", "1") as one:
        running = submit(one.client, ran := wish(tmp_path, "before"))
        until_there(ran["begun"])
        [worker] = one.client.get("/v1/workers").json()["items"]
        assert one.client.post(f"/v1/workers/{worker['workerId']}/drain").status_code == 202
        until_said(one.process, '"event":"worker.draining"')
        waiting = submit(one.client, params := wish(tmp_path, "after"))
        Path(ran["end"]).touch()
        assert one.client.get(f"/v1/jobs/{running}/result?waitSeconds=30").json()["result"] == "done"
        assert one.client.get("/readyz").status_code == 200
        assert one.client.get(f"/v1/jobs/{waiting}").json()["status"] == "queued"
        [listed] = one.client.get("/v1/workers").json()["items"]
        assert (listed["workerId"], listed["status"]) == (worker["workerId"], "draining")

        other = start("worker", "app:app", "--database", database)
        until_there(params["begun"])
        assert one.client.get(f"/v1/jobs/{waiting}").json()["workerId"] != worker["workerId"]
        Path(params["end"]).touch()
        assert one.client.get(f"/v1/jobs/{waiting}/result?waitSeconds=30").json()["result"] == "done"
        other.terminate()
        other.communicate(timeout=BOUND)
        assert "told by SIGTERM" in one.told_to_stop()


def test_what_cannot_be_served_is_told_at_the_start(tmp_path: Path, database: str) -> None:
    """Rows 60 and 69."""
    common = ("serve", "--database", database, "--port", "0")
    assert fails(tenure(tmp_path, *common, "nowhere:app"), 2, "nowhere")
    refused = tenure(tmp_path, *common, "app:app", "--host", "0.0.0.0")  # noqa: S104
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("Error: host: ")


def test_both_registries_can_be_scraped(start: Start, database: str, tmp_path: Path) -> None:
    """S2.53: what one name means in one of them it need not mean in the other."""
    with served(start, database, "app:app") as one:
        job = submit(one.client, params := wish(tmp_path, "a"))
        Path(params["end"]).touch()
        assert one.client.get(f"/v1/jobs/{job}/result?waitSeconds=30").status_code == 200
        requests = one.client.get("/metrics").text
        attempts = one.client.get("/metrics/worker").text
        assert 'http_requests_total{method="POST",route="/jobs",status_code="202"} 1.0' in requests
        assert 'db_query_duration_seconds_count{operation="enqueue' in requests
        assert "job_queue_depth" not in requests
        assert 'job_queue_latency_milliseconds_count{job_type="wait"} 1.0' in attempts
        assert 'db_query_duration_seconds_count{query_type="settle_and_claim"}' in attempts
        assert "http_requests_total" not in attempts
        one.told_to_stop()


def test_without_an_app_the_duties_are_counted(start: Start, database: str) -> None:
    with served(start, database) as one:
        assert 'query_type="outlook"' in one.client.get("/metrics/worker").text
        one.told_to_stop()
