"""The Node that runs workers in JavaScript, and drives the browser: the one in the wheel of Playwright."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import playwright

from tests import debian

VARIABLE = "PLAYWRIGHT_NODEJS_PATH"
"""By which Playwright is told of another than the one that it would start."""


@cache
def program() -> str:
    """Where it is; a script where the system lacks a library that it needs, with which it is started then."""
    node = Path(playwright.__file__).parent / "driver/node"
    if subprocess.run([node, "--version"], capture_output=True, check=False).returncode == 0:
        return str(node)
    script = Path(sys.prefix) / "bin/node-with-libatomic"
    text = debian.script_for(node, debian.fetched("libatomic1"))
    if not script.exists() or script.read_text() != text:
        # At one stroke: others may be about to start it.
        (new := script.with_suffix(f".{os.getpid()}")).write_text(text)
        new.chmod(0o755)
        new.rename(script)
    return str(script)
