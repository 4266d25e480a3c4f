"""A worker's own port, as Prometheus meets it."""

import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tenure.assemble.metrics_port import listen, port
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.storage.address import open_store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tests.surfaces.command import fails, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import job_of, on
from tests.telemetry.scrape import Scrape
from tests.until import until_sync

APP = """
from tenure import Tenure

app = Tenure()


@app.job("double")
def double(params: dict) -> int:
    return 2 * params["n"]
"""
ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


@pytest.fixture(autouse=True)
def app(tmp_path: Path, database: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    on(database, lambda store: store.verify())


def test_a_worker_offers_what_it_counts_and_nothing_else(start: Start, database: str) -> None:
    """S2.51, S2.53."""
    process = start("worker", "app:app", "--database", database, "--metrics-port", "0")
    assert process.stderr is not None
    output = ""
    while not (found := re.search(r"^metrics at (http://127\.0\.0\.1:\d+)/metrics$", output, re.MULTILINE)):
        line = process.stderr.readline()
        assert line, output
        output += line
    [made] = on(database, lambda store: store.enqueue([NewJob(definition="double", params=write({"n": 2}))]))
    until_sync(lambda: job_of(database, str(made.id)).state is State.SUCCEEDED)
    with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:
        reply = client.get("/metrics", headers={"accept": ACCEPT, "host": "anything:1"})
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        scrape = Scrape(reply.content)
        assert scrape.value("job_queue_latency_milliseconds_count", job_type="double") == 1
        assert scrape.value("tenure_store_up") == 1
        assert client.get("/healthz").json() == {"status": "alive"}
        until_sync(lambda: client.get("/readyz").json() == {"status": "ready"})
        assert client.get("/v1/jobs").status_code == 404
        assert client.post("/metrics").status_code == 405
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


async def test_a_worker_that_cannot_claim_is_alive_and_not_ready(database: str) -> None:
    """A supervisor need not restart it, and learns why it is not ready."""
    ready: list[bool] = []
    store = await open_store(database)
    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with (
        port(listening, store, WorkerMetrics(), EventLog(lambda _: None), lambda: bool(ready)),
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client,
    ):
        assert (await client.get("/healthz")).status_code == 200
        refused = await client.get("/readyz")
        assert (refused.status_code, refused.json()["type"]) == (503, "/docs#busy")
        assert "cannot claim jobs" in refused.json()["detail"]
        ready.append(True)
        assert (await client.get("/readyz")).status_code == 200
    await store.close()


def test_a_port_that_is_taken_is_named(database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        ran = tenure(tmp_path, "worker", "app:app", "--database", database, "--metrics-port", number)
    assert fails(ran, 2, "metrics_port", number)
