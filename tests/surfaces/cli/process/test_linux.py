"""Where Tenure runs: workers on Linux, the rest wherever Python does."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tenure.surfaces.cli.commands import commands

ELSEWHERE = """
import sys
sys.platform = "darwin"
import tenure, tenure.__main__, tenure.storage.sqlite.store, tenure.storage.postgres.store
import tenure.execution.protocol.kernel
print(hasattr(tenure.execution.protocol.kernel, "_prctl"))
"""


@pytest.mark.parametrize("arguments", [["worker", "jobs:app"], ["demo"]])
def test_who_runs_jobs_says_so_where_it_cannot(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    ran = CliRunner().invoke(commands, arguments)
    assert ran.exit_code == 2
    assert "runs on Linux only, and this is darwin" in ran.output


def test_the_library_and_the_other_commands_load_elsewhere() -> None:
    """What asks the kernel for more than Python offers is not looked for where there is no such kernel."""
    ran = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
