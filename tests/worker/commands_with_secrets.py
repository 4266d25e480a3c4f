"""Commands that are given secrets, and run on while the test goes on."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import canaries
from tests.worker.running_worker import PATIENCE, ROOT


@contextmanager
def started(
    command: list[str], place: Path, *, folder: Path = ROOT, **variables: str
) -> Iterator["subprocess.Popen[str]"]:
    """A command with secrets around it, until the end of the context."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "TMPDIR": str(place),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TENURE_LOG_FORMAT": "console",
            canaries.VARIABLE: canaries.ENVIRONMENT,
            "SHOP_PASSWORD": canaries.ENVIRONMENT,
            **variables,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def says(process: "subprocess.Popen[str]", words: str) -> str:
    """All of its output up to these words."""
    assert process.stdout is not None
    output = ""
    while words not in output:
        line = process.stdout.readline()
        assert line, output
        output += line
    return output
