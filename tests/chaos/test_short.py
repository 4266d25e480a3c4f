"""The short form of the campaigns: a few fixed seeds, both stores. Seeds that once found something stay here.

What must not be broken is judged as in a long run. How soon things happen is not: this machine may be slow.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from msgspec.structs import replace

from chaos.campaign import Result, Setup, run
from chaos.evidence import load

PATIENT = 20.0
"""By how much longer than promised things may take."""


def short(seed: int, store: str, *faults: str, hostile: bool = False, servers: int = 0) -> Setup:
    return Setup(
        seed=seed,
        store="sqlite" if store == "sqlite" else "postgres",
        faults=faults,
        seconds=4,
        calls=40,
        slack=PATIENT,
        hostile=hostile,
        servers=servers,
    )


def in_make_long(setup: Setup) -> ParameterSet:
    """A seed that `make long` runs: the default run has one for each store."""
    return pytest.param(setup, marks=pytest.mark.long)


BY_LIBRARY = (
    in_make_long(short(2, "sqlite", "step", "pause", hostile=True)),
    in_make_long(short(113073, "postgres", "reset", "cut-commit", "pause", hostile=True)),
    in_make_long(short(5, "postgres", "step", "clock", hostile=True)),
)
OVER_HTTP = (
    short(1, "sqlite", "kill", "deploy", "api", "step", "pause", hostile=True, servers=2),
    in_make_long(short(1, "sqlite", "kill", "deploy", "api", servers=2)),
    in_make_long(short(3, "postgres", "restart", "kill", "api", servers=2)),
)

# Twice as long as the others: on a busy machine the server of those in JavaScript takes seconds to come back.
TWO_LANGUAGES = {"workers": 1, "foreign": 2, "calls": 30, "lease": 5.0, "seconds": 8}
IN_TWO_LANGUAGES = (
    in_make_long(replace(short(8, "sqlite", "kill", "pause", "leasing"), **TWO_LANGUAGES)),
    in_make_long(replace(short(12, "postgres", "kill", "deploy", "leasing"), **TWO_LANGUAGES)),
    replace(
        short(12, "postgres", "kill", "deploy", "leasing", "reset", "cut-commit", hostile=True),
        **TWO_LANGUAGES,
    ),
)


def named(setup: Setup) -> str:
    return f"{setup.store}-{'-'.join(setup.faults)}"


async def played(setup: Setup, request: pytest.FixtureRequest, folder: Path) -> Result:
    """A run that broke nothing."""
    server = request.getfixturevalue("server") if setup.store == "postgres" else None
    result = await run(setup, folder, server)
    assert not result.violations, f"again: {setup.command}"
    assert result.quiet
    # A job that does not stop is stopped when all is calm again; and one kills its worker, come what may.
    assert result.counters["grace"]
    assert result.counters["rescue"] or "kill_worker" not in setup.attacks
    assert result.strikes
    return result


@pytest.mark.parametrize("setup", BY_LIBRARY, ids=named)
async def test_no_promise_is_broken(setup: Setup, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    await played(setup, request, tmp_path / "run")


@pytest.mark.parametrize("setup", OVER_HTTP, ids=named)
async def test_no_promise_is_broken_to_clients_of_servers_that_are_killed(
    setup: Setup, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S0.43, S0.44, S0.47: half of the calls go over HTTP, by two namespaces that pry into each other."""
    result = await played(setup, request, tmp_path / "run")
    assert any(strike.fault == "api" for strike in result.strikes) or result.counters["unanswered"]
    assert result.counters["over_http"] > 10
    found = load(tmp_path / "run" / "evidence")
    assert {reply.namespace for reply in found.replies} == {"red", "blue", None}
    assert {reply.status for reply in found.replies} >= {200, 202, 401, 403, 404, 422}
    read = {reply.asked for reply in found.replies if reply.status == 200}
    assert read >= {"GET /metrics", "GET /docs", "GET /openapi.json", "GET /v1/jobs", "GET /v1/audit"}
    written = {re.sub(r"-.*\.|-.*", " ", writing.name) for writing in found.writings}
    assert written == {"worker log", "worker metrics", "api/api log", "seen "}


@pytest.mark.parametrize("setup", IN_TWO_LANGUAGES, ids=named)
async def test_no_promise_is_broken_by_workers_in_two_languages_for_one_queue(
    setup: Setup, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S0.26, S0.60: workers in Python and in JavaScript race for the same jobs, whoever of them is harmed.

    So is the server of those in JavaScript, with claims and reports in its hand that are not answered.
    """
    result = await played(setup, request, tmp_path / "run")
    assert any(strike.fault == "leasing" for strike in result.strikes)
    found = load(tmp_path / "run" / "evidence")
    # How many each had, and how many came to a good end, depends on who was harmed, and when.
    claimed = Counter("@" in attempt.worker for attempt in found.attempts)
    assert set(claimed) == {True, False}, claimed
