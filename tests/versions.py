"""The stores' tests on every version of PostgreSQL that is supported, and a table of how they went."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.postgres_server import DSN_VARIABLE, PostgresServer, PostgresUnavailable, reported_release
from tests.postgres_versions import SUPPORTED, fetched, installed

ROOT = Path(__file__).parent.parent
SUITES = tuple(f"tests/storage/{part}" for part in ("contract", "postgres", "races", "touched"))
# Every other parameter names a store or a version of its own.
OF_THE_GIVEN_SERVER = "postgres and not postgres-18"


class Row(NamedTuple):
    """How the tests went on one version."""

    release: str
    passed: int
    failed: int


def run_all() -> int:
    """Run the suites on one version after the other; 1 when a test failed or a version was not to be had."""
    found = installed()
    rows = [_run(major, found.get(major)) for major in SUPPORTED]
    print(table(rows))
    return 0 if all_alike(rows) else 1


def table(rows: list[Row]) -> str:
    """One line for each version."""
    lines = [f"{release:<12}{passed:>8}{failed:>8}" for release, passed, failed in rows]
    return "\n".join(("", f"{'PostgreSQL':<12}{'passed':>8}{'failed':>8}", *lines))


def all_alike(rows: list[Row]) -> bool:
    """Whether every version passed the same tests, and there were some."""
    return rows[0].passed > 0 and all((row.passed, row.failed) == (rows[0].passed, 0) for row in rows)


def counted(release: str, summary: str) -> Row:
    """What the last line of pytest says; an error counts as a failure."""
    numbers = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", summary)}
    return Row(release, numbers.get("passed", 0), numbers.get("failed", 0) + numbers.get("error", 0))


def _run(major: int, binaries: Path | None) -> Row:
    try:
        binaries = binaries or fetched(major)
        release = ".".join(map(str, reported_release(binaries)[:2]))
        print(f"== PostgreSQL {release}: {' '.join(SUITES)}", flush=True)
        with PostgresServer(binaries) as server:
            return counted(release, _pytest(server.dsn("postgres")))
    except PostgresUnavailable as error:
        print(f"== PostgreSQL {major}: {error}", flush=True)
        return Row(f"{major} (none)", 0, 0)


def _pytest(dsn: str) -> str:
    """Run the suites on a server, showing what pytest says; answers with its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *SUITES, "-k", OF_THE_GIVEN_SERVER]
    last = ""
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, DSN_VARIABLE: dsn}, stdout=subprocess.PIPE, text=True
    ) as running:
        for last in running.stdout or ():
            print(last, end="", flush=True)
    return last
