"""A run tells what took most of the processor's time, wherever the tests ran."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.costs import folder_of

ROOT = Path(__file__).parents[2]
TESTS = """
import subprocess, sys, time, pytest

def use(seconds):
    ends = time.process_time() + seconds
    while time.process_time() < ends:
        pass

@pytest.fixture
def dear():
    use(0.1)

@pytest.mark.parametrize("case", range(2))
def test_cases(case):
    use(0.1)

def test_fixture(dear):
    use(0.1)

def test_process():
    program = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", program], check=True)

def test_cheap():
    pass
"""


def test_cases_fixtures_and_processes_are_counted(tmp_path: Path) -> None:
    said = _run(tmp_path, "--costs", "-p", "xdist.plugin", "-n", "2")
    took = {
        place: float(seconds) for seconds, place in re.findall(r"^ +([\d.]+) s  (\S+)$", said, re.MULTILINE)
    }
    by_test = {place.rpartition("::")[2]: seconds for place, seconds in took.items() if "::" in place}
    assert list(by_test)[-1] == "test_cheap"
    assert min(by_test["test_cases"], by_test["test_fixture"]) >= 0.2
    assert by_test["test_process"] >= 0.3
    assert by_test["test_cheap"] < 0.2
    assert took["rooms/deep"] == pytest.approx(sum(by_test.values()), abs=0.3)


def test_who_does_not_ask_is_told_nothing(tmp_path: Path) -> None:
    assert "processor" not in _run(tmp_path)


def test_folders_are_told_down_to_a_level() -> None:
    assert folder_of("tests/storage/contract/deeper/test_x.py::test_x[a/b]") == "tests/storage/contract"
    assert folder_of("tests/test_x.py::test_x") == "tests"


def _run(folder: Path, *options: str) -> str:
    (place := folder / "rooms/deep").mkdir(parents=True)
    (place / "test_them.py").write_text(TESTS)
    (folder / "pytest.ini").touch()
    (folder / "conftest.py").write_text((ROOT / "tests/costs.py").read_text())
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # To load all that is installed takes ten times as long as the run.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout
