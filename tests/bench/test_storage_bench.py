"""The bench runs from end to end. How fast anything was is not for a test to say."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import report
from bench.goals import GOALS
from bench.pgbench import WORKED_OUT, script
from bench.rows import ROWS
from tenure.storage.postgres.claims import statement_choice
from tenure.storage.schema import statements

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    ran = _bench("--quick", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(ROWS)
    assert GOALS.keys() <= set(told.figures)
    assert report.markdown(told) in ran.stdout
    assert told.quick


@pytest.mark.long
def test_a_quick_run_can_be_profiled() -> None:
    ran = _bench("--quick", "--profile")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("function calls") == 2
    # Only the thread that writes to SQLite calls this.
    assert "of 'apsw.Connection' objects" in ran.stdout


def test_pgbench_is_given_the_text_of_the_store() -> None:
    """Apart from the values that are worked out on the server."""
    text = script().removesuffix("\n\\aset\n")
    for name, expression in WORKED_OUT.items():
        text = text.replace(expression, f":{name}")
    assert text == statements.load("tenure.storage.postgres")[statement_choice.BARE]


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.storage", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
