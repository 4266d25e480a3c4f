"""What some commands ask of the operating system."""

import sys

from tenure.core.errors import InvalidInput


def require_linux(command: str) -> None:
    """Refuse to start a worker where its ways of ending processes do not exist."""
    if sys.platform != "linux":
        problem = f"runs on Linux only, and this is {sys.platform}"
        raise InvalidInput(command, problem, "run it there; jobs can be enqueued and looked at from here")
