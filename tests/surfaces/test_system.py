"""Where Tenure runs: workers on Linux, the rest wherever Python does."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tenure.surfaces.cli.commands import commands

LINUX_ALONE = "tenure.execution.kernel"
PARTS = "import sys, tenure, tenure.assemble, tenure.storage.sqlite.store, tenure.storage.postgres.store; "


@pytest.mark.parametrize("arguments", [["worker", "jobs:app"], ["demo"]])
def test_who_runs_jobs_says_so_where_it_cannot(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    ran = CliRunner().invoke(commands, arguments)
    assert ran.exit_code == 2
    assert "runs on Linux only, and this is darwin" in ran.output


def test_the_library_and_the_other_commands_load_nothing_of_linux() -> None:
    """What asks the kernel for more than Python offers is loaded where jobs run, and not before."""
    asked = f"{PARTS} print({LINUX_ALONE!r} in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
