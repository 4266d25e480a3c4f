"""The server's bench runs from end to end, and its clients notice when they are not served."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import report
from bench.goals import HTTP_GOALS
from bench.http_load import load
from bench.http_rows import ROWS
from tenure.storage.contract.store import Store
from tests.surfaces.http.http_server import serving

ROOT = Path(__file__).parents[2]
PATIENCE = 500


@pytest.mark.long
def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.http", "--quick", "--json", str(file)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(ROWS)
    assert HTTP_GOALS.keys() <= set(told.figures)
    assert report.markdown(told, report.HTTP) in ran.stdout


async def test_whatever_is_not_recorded_is_not_counted(store: Store) -> None:
    async with serving(store) as api:
        with pytest.raises(RuntimeError, match="unknown-definition"):
            await load(*api.address, calls=10, connections=2)
