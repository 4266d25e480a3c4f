"""The README opens with the two commands that set everything up, and CI runs the second as it stands."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_first_two_shell_blocks_are_one_line_each() -> None:
    demo, test = re.findall(
        r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )[:2]
    for block in (demo, test):
        assert block.count("\n") == 1
        assert block.startswith("python3 -m venv .venv && ")
    assert demo.endswith(" && .venv/bin/tenure demo\n")
    assert test.endswith(" && .venv/bin/python -m tests\n")


def test_ci_runs_the_second_shell_block(tmp_path: Path) -> None:
    ran = _ci(
        tmp_path, "```sh\nfalse\n```\n```python\nnot this\n```\n```sh\necho fresh\n```\n```sh\nfalse\n```\n"
    )
    assert ran.returncode == 0
    assert ran.stdout == "+ echo fresh\nfresh\n"


def test_ci_fails_when_the_command_fails(tmp_path: Path) -> None:
    assert _ci(tmp_path, "```sh\ntrue\n```\n```sh\nfalse && true\n```\n").returncode != 0


@pytest.mark.parametrize(
    "readme",
    [
        "",
        "```sh\ntrue\n```\n",
        "```sh\ntrue\n```\n```sh\n```\n",
        "```sh\ntrue\n```\n```sh\ntrue\ntrue\n```\n",
    ],
    ids=["nothing", "one block", "empty block", "two lines"],
)
def test_ci_refuses_a_readme_without_exactly_one_command(tmp_path: Path, readme: str) -> None:
    ran = _ci(tmp_path, readme)
    assert ran.returncode != 0
    assert "exactly one line" in ran.stderr


def _ci(folder: Path, readme: str) -> subprocess.CompletedProcess[str]:
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    (folder / "README.md").write_text(readme)
    return subprocess.run(["bash", ".ci/run"], cwd=folder, capture_output=True, text=True, check=False)
