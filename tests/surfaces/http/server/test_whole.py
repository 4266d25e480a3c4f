"""The server and a worker as they are run together: a request goes in, and what became of it comes out."""

from pathlib import Path

import pytest

from tests.surfaces.command import tenure
from tests.surfaces.conftest import Start
from tests.surfaces.http.server.test_command import BOUND, serving
from tests.until import until_sync

pytestmark = pytest.mark.both_stores

APP = """
from tenure import Context, Tenure, backoff

app = Tenure()


@app.job("greet", max_attempts=2, retry=backoff(base=0.01, cap=0.01))
async def greet(params: dict, ctx: Context) -> str:
    if ctx.attempt <= params["failures"]:
        raise OSError("not yet")
    return "hello"
"""


def test_a_request_becomes_a_job_and_the_job_a_result(start: Start, database: str, tmp_path: Path) -> None:
    """S3.14, S3.15: server, worker and store; recorded, claimed, run, and done, tried again or failed."""
    (tmp_path / "jobs.py").write_text(APP)
    tenure(tmp_path, "migrate", "--database", database)
    worker = start("worker", "jobs:app", "--database", database)
    with serving(start, database) as (_, client):

        def is_registered() -> bool:
            assert worker.poll() is None, worker.communicate()
            return "greet" in client.get("/v1/definitions").text

        until_sync(is_registered)
        ends = {}
        for failures in range(3):
            body = {"definitionKey": "greet", "params": {"failures": failures}}
            job = client.post("/v1/jobs", json=body).json()["jobId"]
            reply = client.get(f"/v1/jobs/{job}/result", params={"waitSeconds": 30}, timeout=BOUND)
            events = client.get(f"/v1/jobs/{job}/events").json()["items"]
            ends[failures] = (reply.status_code, [event["type"] for event in events])
    once, again = ["queued", "started"], ["retrying", "queued", "started"]
    assert ends == {
        0: (200, [*once, "succeeded"]),
        1: (200, [*once, *again, "succeeded"]),
        2: (409, [*once, *again, "failed"]),
    }
