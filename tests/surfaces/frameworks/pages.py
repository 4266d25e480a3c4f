"""Writes the programs of a page to a folder, and runs their tests as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

from tests.surfaces.command import environment

DOCS = Path(__file__).parents[3] / "docs"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")


def write(page: str, folder: Path) -> None:
    """Write each program of the page to the file that its first line names."""
    text = (DOCS / "how-to" / page).read_text()
    for name, body in re.findall(
        r"^```\w+\n# (\S+\.(?:py|toml))\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if path.parent != folder:
            (path.parent / "__init__.py").touch()
        path.write_text(body)


def python(folder: Path, *arguments: str, **changed: str) -> str:
    """Run Python in the folder; returns what it printed. It must end well."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(**changed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout
