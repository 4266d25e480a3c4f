"""The OpenAPI document tells the truth, of what is taken and of what is answered.

Schemathesis makes requests of the document, some that fit it and some that do not, and holds every answer
against it: status, headers, form and body; that what fits is taken and what does not is refused; that a key
is asked for; that the methods are those of `Allow`. It runs as a command with all its checks, and with the
one in `schemathesis_hooks`. Routes are asked in groups, each by a run of its own, so that several can go on
at once, and on one of the stores: the contract tests hold that both give the same answers.
"""

import asyncio
import json
import os
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tenure.api.problem import KINDS
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.auth import authentication
from tenure.surfaces.http.calls.table import ROUTES
from tests.storage.clock import Clock
from tests.storage.verbs import claim
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.filled_store import WORKER, Filled, filled
from tests.surfaces.http.http_server import serving
from tests.whole import dealt

ROOT = Path(__file__).parents[4]
EXAMPLES = int(os.environ.get("TENURE_TEST_EXAMPLES", "3"))
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

ONE_BY_ONE = ("examples", "coverage", "fuzzing")
"""The phases in which each route is asked by itself."""

ONLY_REFUSED = {
    "GET /metrics/worker": "there is no worker in the server's process",
    "POST /v1/jobs/{jobId}/give-up": "jobs that wait may have been cancelled, by a request for all of them",
    "POST /v1/jobs/{jobId}/release": "and so may those that are held",
    "POST /v1/jobs/{jobId}/reschedule": "and so may those whose time is ahead",
    "POST /v1/jobs/{jobId}/put-back": "no job is aside",
    "POST /tasks/{jobId}/abort": "and so may those whose time is ahead",
    "POST /v1/jobs/{jobId}/effects/{effect}": "no effect of such a name is in doubt",
    "GET /v1/leases/{jobId}/steps/{step}": "no step of such a name is kept",
    "GET /v1/leases/{jobId}/signals/{signal}": "no signal of such a name was sent",
    "POST /v1/schedules": "of `cron` and `everySeconds` it takes one, and random bodies mostly have both",
    **dict.fromkeys(
        (name for name in BY_NAME if "/v1/schedules/{name}" in name),
        "the schedule may have been deleted, by a request for that",
    ),
    **dict.fromkeys(
        (name for name in BY_NAME if "/v1/webhooks/{webhookId}" in name),
        "the webhook may have been deleted likewise, or have another revision",
    ),
}
"""Routes that may find nothing to do, and why."""

FIXED = {
    "GET /v1/jobs/{jobId}/result": {"query.waitSeconds": 0},
    "POST /v1/leases": {"query.waitSeconds": 0},
}
"""Parameters with a value that is given: a wait for what nobody does takes as long as it may."""

MEANT_FOR = {
    "POST /tasks/{jobId}/abort": State.SCHEDULED,
    "POST /v1/jobs/{jobId}/give-up": State.RETRYING,
    "POST /v1/jobs/{jobId}/release": State.CREATED,
    "POST /v1/jobs/{jobId}/reschedule": State.SCHEDULED,
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


def group_of(route: Route) -> str:
    """The group that a route is asked in; whatever is new falls into one."""
    if not route.path.startswith("/v1/jobs") and route.path.startswith(("/v1", "/metrics")):
        return "operators and processes"
    if not route.path.startswith("/v1/jobs") or route.method == "GET":
        return "clients, and jobs that are looked at"
    return "jobs one by one" if "jobId" in route.names else "jobs by the dozen"


GROUPS = {
    group: {name for name in BY_NAME if group_of(BY_NAME[name]) == group} for group in map(group_of, ROUTES)
}


def settings(key: str, known: Filled, leases: Mapping[str, Claimed], group: Collection[str]) -> Iterator[str]:
    """What the command is told, in lines of TOML. Most values are of things that are there.

    `leases` has jobs that the key's own worker holds, by the route that is to speak of them.
    """
    places = {
        "path.jobId": [job for jobs in known.jobs.values() for job in jobs],
        **dict.fromkeys(("path.key", "body.definitionKey", "body.jobType", "body.type"), known.definitions),
        **dict.fromkeys(
            ("body.jobs[*].definitionKey", "body.definitions[*].definitionKey"), known.definitions
        ),
        "body.definitions[*].definitionVersion": (1,),
        **dict.fromkeys(("body.definitionVersion", "body.jobs[*].definitionVersion"), (1,)),
        **dict.fromkeys(("body.runAt", "body.jobs[*].runAt"), ("2030-01-31T08:30:00Z",)),
        **dict.fromkeys(("body.cron", "body.repeat.cron"), ("@daily", "*/5 8-17 * * 1-5")),
        **dict.fromkeys(("body.timezone", "body.repeat.timezone"), ("UTC", "Europe/Berlin")),
        **dict.fromkeys(("body.endsAt", "body.repeat.until"), ("2031-01-31T08:30:00Z",)),
        **dict.fromkeys(("path.queue", "body.queue"), known.queues),
        "path.workerId": known.workers,
        "path.name": known.limits,
    }
    yield from (f"{name} = {json.dumps(value)}" for name, value in GENERAL.items())
    yield f"auth.openapi.key.bearer = {json.dumps(key)}"
    for n, values in enumerate(places.values()):
        yield f"dictionaries.place{n}.values = {json.dumps(values)}"
    for state, jobs in known.jobs.items():
        yield f"dictionaries.{state}.values = {json.dumps(jobs)}"
    for n, held in enumerate(leases.values()):
        yield f"dictionaries.leased{n}.values = {json.dumps([str(held.lease.job)])}"
        yield f"dictionaries.token{n}.values = {json.dumps([f'{held.lease.fence}.{WORKER}'])}"
    yield "[parameters]"
    yield from (f'"{place}" = {_drawn(f"place{n}")}' for n, place in enumerate(places))
    for name, route in BY_NAME.items():
        yield from _of_route(name, route, is_asked=name in group and name not in NOT_ASKED)
        if name in leases:
            n = list(leases).index(name)
            yield f'parameters."path.jobId" = {_drawn(f"leased{n}")}'
            place = "query" if route.method == "GET" else "body"
            yield f'parameters."{place}.token" = {_drawn(f"token{n}")}'


def _of_route(name: str, route: Route, *, is_asked: bool) -> Iterator[str]:
    # A body with 1.0 for a whole number fits the document; `schemathesis_hooks` lets no other refusal by.
    kinds = [*route.problems, *([] if route.body is None else ["validation"])]
    refusals = {str(KINDS[kind].status) for kind in kinds}
    yield f"[[operations]]\ninclude-name = {json.dumps(name)}\nenabled = {json.dumps(is_asked)}"
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
            interactions = event["recorder"].get("interactions", {}) if kind == "ScenarioFinished" else {}
            answers = [one["response"]["status_code"] for one in interactions.values()]
            if answers:
                found[event["recorder"]["label"]].update(answers)
    return found


async def held_by(store: Store, owner: str) -> dict[str, Claimed]:
    """A job for each route that speaks of a lease, in the hands of a worker."""
    names = [name for name, route in BY_NAME.items() if route.by_lease and "jobId" in route.names]
    line = Line("leased", "note")
    await store.enqueue([NewJob(definition="note", queue=line.queue)] * len(names))
    held = [claimed for _ in names for claimed in await claim(store, owner, limit=1, lines=(line,))]
    return dict(zip(names, held, strict=True))


class Asking(NamedTuple):
    """Where routes can be asked: a store that is filled, and a folder for what the command writes."""

    store: Store
    known: Filled
    folder: Path

    async def ask(self, group: Collection[str], phases: Iterable[str]) -> dict[str, set[int]]:
        """Let schemathesis ask a group of routes; every check must hold. Answers as `statuses_in` does."""
        key = await make(self.store, "admin")
        leases = await held_by(self.store, f"{WORKER}@{key[4:14]}")
        answer = "\n".join(settings(key, self.known, leases, group))
        (self.folder / "schemathesis.toml").write_text(answer)
        report = self.folder / "report.ndjson"
        async with serving(self.store, requests_per_second=0) as api:
            document = f"{api.server.url}/openapi.json"
            hooks = {"PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.surfaces.http.schemathesis_hooks"}
            ran = await asyncio.create_subprocess_exec(
                *(Path(sys.executable).with_name("st"), "run", document, "--no-color"),
                *("--phases", ",".join(phases), "--report-ndjson-path", report),
                cwd=self.folder,
                env={**os.environ, **hooks},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(PATIENCE):
                output, _ = await ran.communicate()
        assert ran.returncode == 0, output.decode()
        assert not api.bugs
        return statuses_in(report)


@pytest.fixture
async def asking(store: Store, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    """A store of each kind, with something of every kind in it."""
    monkeypatch.setattr(
        authentication, "BAD_KEYS", 1e9
    )  # every operation is tried with keys that open nothing
    return Asking(store, await filled(store, clock), tmp_path)


def test_every_row_of_the_table_is_in_one_group_and_asked_unless_there_is_a_reason() -> None:
    """S1.53."""
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(BY_NAME)
    assert len(BY_NAME) == len(ROUTES)
    assert NOT_ASKED.keys() == {"GET /v1/events"}


@pytest.mark.parametrize(
    ("group", "database_kind"),
    [(group, store) for turn, group in enumerate(GROUPS) for store in dealt(turn)],
    indirect=["database_kind"],
)
async def test_the_document_tells_the_truth(asking: Asking, group: str) -> None:
    """S1.53: every route is asked, and does what it is for at least once; no answer is otherwise."""
    answered = await asking.ask(GROUPS[group], ONE_BY_ONE)
    assert answered.keys() & BY_NAME.keys() == GROUPS[group] - NOT_ASKED.keys()
    idle = {
        name for name, seen in answered.items() if name in BY_NAME and not seen & BY_NAME[name].answers.keys()
    }
    assert idle <= ONLY_REFUSED.keys()
    print(f"{group}: {len(answered.keys() & BY_NAME.keys())} of {len(GROUPS[group])} operations tested")


@pytest.mark.parametrize("database_kind", dealt(len(GROUPS)), indirect=True)
async def test_what_one_route_answers_can_be_asked_of_another(asking: Asking) -> None:
    """S1.53: as the document links them, one request after the other."""
    [seen] = (await asking.ask(BY_NAME, ["stateful"])).values()
    assert {200, 202} <= seen
