"""Refuses commands that need Linux on other systems."""

import sys

from tenure.core.errors import InvalidInput


def require_linux(command: str) -> None:
    """Refuse to start a worker on a system that cannot end processes as it must."""
    if sys.platform != "linux":
        problem = f"runs on Linux only, and this is {sys.platform}"
        raise InvalidInput(command, problem, "run it on Linux; other commands work here")
