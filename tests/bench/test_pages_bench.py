"""The bench of pages runs from end to end."""

import subprocess
import sys
from pathlib import Path

from bench import report
from bench.goals import PAGE_GOALS
from bench.pages_rows import ROWS
from tests.bench.quickly import chosen, only
from tests.whole import IS_WHOLE

ROOT = Path(__file__).parents[2]
PATIENCE = 500


def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    rows = chosen(ROWS, "pages-sqlite")
    command = [sys.executable, "-m", "bench.pages", "--quick", *only(rows), "--json", str(file)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(rows)
    assert {goal for goal in PAGE_GOALS if IS_WHOLE or goal.endswith("sqlite")} <= set(told.figures)
    assert report.markdown(told, report.PAGES) in ran.stdout
