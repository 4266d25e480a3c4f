"""The page about clients, run as it stands against `tenure serve`; and nothing of them is missing there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tenure import Client
from tenure.surfaces.remote import errors
from tests.surfaces.command import COMMAND, environment

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/client.md").read_text()
PUBLIC = [name for name in vars(Client) if not name.startswith("_")]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_run_one_after_the_other(tmp_path: Path, migrated: str) -> None:
    """The first job of the README is what they ask for."""
    (tmp_path / "jobs.py").write_text(blocks((ROOT / "README.md").read_text())[0])
    serving = subprocess.Popen(
        [*COMMAND, "serve", "jobs:app", "--port", "0", "--database", migrated],
        cwd=tmp_path,
        env=environment(TENURE_DATABASE=migrated),
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert serving.stderr is not None
        while not (found := re.match(r"(http://\S+) on ", serving.stderr.readline())):
            assert serving.poll() is None
        program = "\n".join(blocks(PAGE)).replace("http://localhost:8000", found[1])
        ran = subprocess.run(
            [sys.executable, "-c", program + "\nclient.close()\n"],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
    assert ran.stderr == ""
    ada, grace, *events, job, refused = ran.stdout.splitlines()
    assert ada == "{'sent': 'ada@example.com', 'attempt': 1}"
    assert grace == "{'sent': 'grace@example.com', 'attempt': 1}"
    assert events == ["1 queued", "2 started", "3 succeeded"]
    assert job.endswith(" default")
    assert refused == "invalid-params ['/params/to']"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_method_of_a_client_is_described(name: str) -> None:
    assert f"client.{name}(" in PAGE


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and value.__module__ == errors.__name__
    ],
)
def test_every_error_of_a_client_is_described(name: str) -> None:
    assert f"`{name}`" in PAGE
