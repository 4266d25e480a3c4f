"""The bench of pages runs from end to end."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import report
from bench.goals import PAGE_GOALS
from bench.pages_rows import ROWS

ROOT = Path(__file__).parents[2]
PATIENCE = 500


@pytest.mark.long
def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.pages", "--quick", "--json", str(file)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(ROWS)
    assert PAGE_GOALS.keys() <= set(told.figures)
    assert report.markdown(told, report.PAGES) in ran.stdout
