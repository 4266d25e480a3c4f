"""A run of the contract suite fails when the stores did not pass the same number of tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract_counts import SUITE, store_of

ROOT = Path(__file__).parents[2]
ALL = "import pytest\n@pytest.mark.parametrize('store', ['sqlite', 'postgres'])\ndef test_same(store): pass\n"
ALONE = "@pytest.mark.parametrize('store', ['sqlite'])\ndef test_alone(store): pass\n"


def test_equal_counts_pass(tmp_path: Path) -> None:
    ran = _run(tmp_path, ALL)
    assert ran.returncode == 0, ran.stdout
    assert _counts(ran) == ["sqlite: 1", "postgres: 1"]


@pytest.mark.parametrize("options", [[], ["-p", "xdist.plugin", "-n", "2"]], ids=["one process", "xdist"])
def test_a_test_on_one_store_alone_fails_the_run(tmp_path: Path, options: list[str]) -> None:
    ran = _run(tmp_path, ALL + ALONE, *options)
    assert ran.returncode == 1, ran.stdout
    assert _counts(ran) == ["sqlite: 2", "postgres: 1"]
    assert "3 passed" in ran.stdout


def test_a_selection_is_not_compared(tmp_path: Path) -> None:
    ran = _run(tmp_path, ALL + ALONE, "-k", "sqlite")
    assert ran.returncode == 0, ran.stdout
    assert _counts(ran) == ["sqlite: 2", "postgres: 0"]


def test_only_parameters_tell_the_store() -> None:
    assert store_of(f"{SUITE}test_claim.py::test_x[sqlite]") == "sqlite"
    assert store_of(f"{SUITE}test_claim.py::test_x[many-postgres]") == "postgres"
    assert store_of(f"{SUITE}test_claim.py::test_x[postgres-many]") == "postgres"
    assert store_of(f"{SUITE}test_claim.py::test_x_on_sqlite") is None
    assert store_of("tests/storage/sqlite/file/test_writer.py::test_x[sqlite]") is None


def _counts(ran: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^contract tests passed on (.*)$", ran.stdout, re.MULTILINE)


def _run(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / SUITE).mkdir(parents=True)
    (folder / SUITE / "test_verb.py").write_text(tests)
    (folder / "pytest.ini").touch()
    plugin = (ROOT / "tests/contract_counts.py").read_text()
    (folder / "conftest.py").write_text(plugin)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # To load all that is installed takes ten times as long as the run.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
