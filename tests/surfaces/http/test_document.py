"""The OpenAPI document tells the truth, of what is taken and of what is answered.

Schemathesis makes requests of the document, some that fit it and some that do not, and holds every answer
against it: status, headers, form and body; that what fits is taken and what does not is refused; that a key
is asked for; that the methods are those of `Allow`. It runs as a command with all its checks, and with the
one in `judging`.
"""

import asyncio
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tenure.core.states import State
from tenure.storage.contract import Store
from tenure.surfaces.http import door
from tenure.surfaces.http.problems import KINDS
from tenure.surfaces.http.routes import Route
from tenure.surfaces.http.table import ROUTES
from tests.storage.clock import Clock
from tests.surfaces.http.filled import Filled, filled
from tests.surfaces.http.serving import serving
from tests.surfaces.http.test_keys import make

ROOT = Path(__file__).parents[3]
EXAMPLES = int(os.environ.get("TENURE_TEST_EXAMPLES", "6"))
"""Requests made at random for each operation, beside those at every bound that its schema has."""

PATIENCE = 120 + 20 * EXAMPLES
"""Seconds after which the command is taken to hang."""

BY_NAME = {f"{route.method} {route.path}": route for route in ROUTES}
NOT_ASKED = {
    name: "a stream does not end"
    for name, route in BY_NAME.items()
    if route.produces.startswith("text/event-stream")
}
"""Routes that are left out, and why."""

ONLY_REFUSED = {
    "GET /metrics/worker": "there is no worker in the server's process",
    "POST /v1/jobs/{jobId}/give-up": "jobs that wait may have been cancelled, by a request for all of them",
    "POST /v1/jobs/{jobId}/release": "and so may those that are held",
    "POST /tasks/{jobId}/abort": "and so may those whose time is ahead",
}
"""Routes that may find nothing to do, and why."""

FIXED = {"GET /v1/jobs/{jobId}/result": {"query.waitSeconds": 0}}
"""Parameters with a value that is given: a wait for a job that nobody runs takes as long as it may."""

MEANT_FOR = {
    "POST /tasks/{jobId}/abort": State.SCHEDULED,
    "POST /v1/jobs/{jobId}/give-up": State.RETRYING,
    "POST /v1/jobs/{jobId}/release": State.CREATED,
    "POST /v1/jobs/{jobId}/replay": State.SUCCEEDED,
    "GET /v1/jobs/{jobId}/result": State.SUCCEEDED,
}
"""Where a job must be for a route to be of use."""

GENERAL = {
    "continue-on-failure": True,
    "cache.enabled": False,
    "generation.database": "none",
    "generation.deterministic": True,
    "generation.max-examples": EXAMPLES,
    # No text may hold it, however free: rows 9 and 10 of the bad inputs ask for that.
    "generation.allow-x00": False,
}


def settings(key: str, known: Filled) -> Iterator[str]:
    """What the command is told, in lines of TOML. Most values are of things that are there."""
    places = {
        "path.jobId": [job for jobs in known.jobs.values() for job in jobs],
        **dict.fromkeys(("path.key", "body.definitionKey", "body.jobType", "body.type"), known.definitions),
        "body.jobs[*].definitionKey": known.definitions,
        **dict.fromkeys(("body.definitionVersion", "body.jobs[*].definitionVersion"), (1,)),
        **dict.fromkeys(("body.runAt", "body.jobs[*].runAt"), ("2030-01-31T08:30:00Z",)),
        **dict.fromkeys(("path.queue", "body.queue"), known.queues),
        "path.workerId": known.workers,
    }
    yield from (f"{name} = {json.dumps(value)}" for name, value in GENERAL.items())
    yield f"auth.openapi.key.bearer = {json.dumps(key)}"
    for n, values in enumerate(places.values()):
        yield f"dictionaries.place{n}.values = {json.dumps(values)}"
    for state, jobs in known.jobs.items():
        yield f"dictionaries.{state}.values = {json.dumps(jobs)}"
    yield "[parameters]"
    yield from (f'"{place}" = {_drawn(f"place{n}")}' for n, place in enumerate(places))
    for name, route in BY_NAME.items():
        yield from _of_route(name, route)


def _of_route(name: str, route: Route) -> Iterator[str]:
    refusals = {str(KINDS[kind].status) for kind in route.problems}
    yield f"[[operations]]\ninclude-name = {json.dumps(name)}\nenabled = {json.dumps(name not in NOT_ASKED)}"
    yield f"checks.positive_data_acceptance.expected-statuses = {json.dumps(['2xx', *sorted(refusals)])}"
    for place, value in FIXED.get(name, {}).items():
        yield f'parameters."{place}" = {json.dumps(value)}'
    if name in MEANT_FOR:
        yield f'parameters."path.jobId" = {_drawn(MEANT_FOR[name])}'


def _drawn(dictionary: str) -> str:
    return f'{{dictionary = "{dictionary}", probability = 0.8}}'


def statuses_in(report: Path) -> dict[str, set[int]]:
    """By the name of an operation, what its requests were answered with."""
    found: dict[str, set[int]] = defaultdict(set)
    for line in report.read_bytes().splitlines():
        for kind, event in msgspec.json.decode(line).items():
            asked = event["recorder"].get("interactions", {}) if kind == "ScenarioFinished" else {}
            answers = [one["response"]["status_code"] for one in asked.values()]
            if answers:
                found[event["recorder"]["label"]].update(answers)
    return found


async def test_the_document_tells_the_truth(
    store: Store, clock: Clock, tmp_path: Path, monkeypatch: Any
) -> None:
    """S1.53: every route is asked, and does what it is for at least once; no answer is otherwise."""
    monkeypatch.setattr(door, "BAD_KEYS", 1e9)  # every operation is tried with keys that open nothing
    known = await filled(store, clock)
    key = await make(store, "admin")
    (tmp_path / "schemathesis.toml").write_text("\n".join(settings(key, known)))
    report = tmp_path / "report.ndjson"
    async with serving(store, requests_per_second=0) as api:
        document = f"{api.server.url}/openapi.json"
        ran = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("st"), "run", document, "--no-color"),
            *("--report-ndjson-path", report),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.surfaces.http.judging"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(PATIENCE):
            said, _ = await ran.communicate()
    assert ran.returncode == 0, said.decode()
    assert not api.told
    answered = statuses_in(report)
    assert answered.keys() & BY_NAME.keys() == BY_NAME.keys() - NOT_ASKED.keys()
    idle = {
        name for name, seen in answered.items() if name in BY_NAME and not seen & BY_NAME[name].answers.keys()
    }
    assert idle <= ONLY_REFUSED.keys()
    tested = len(answered.keys() & BY_NAME.keys())
    print(f"operations tested: {tested}, rows of the table: {len(ROUTES)}, left out: {len(NOT_ASKED)}")
