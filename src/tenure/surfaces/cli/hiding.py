"""A process that runs jobs hides its secrets from them: it starts itself anew without those it was given.

Jobs run below it, as the same user unless they are given another one, and may read whatever the kernel shows
of the processes above them: the arguments, which everybody on the machine may read, and the variables as they
were at the start, whatever was done to them later. So both are put into a file in memory, the process
executes itself without them, and reads them back: its number, parent, streams, and the signals that it
ignores stay as they were. Its memory and its descriptors are closed to others by not being dumpable.

This happens before anything else is imported, and once: who was started with the file in memory never makes
another one.
"""

import fcntl
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenure.core.urls import masked_in
from tenure.execution import kernel
from tenure.settings import REDACTED
from tenure.surfaces.redaction import Redaction

WITHHELD = "TENURE_WITHHELD"
"""The variable with the number of the descriptor; taken away before anybody reads settings."""

RUNNING_JOBS = frozenset({"worker", "serve", "demo"})
"""The commands below which there are jobs."""

_SECRET = Redaction((*REDACTED, "*_headers"))
_DEBUGGERS = frozenset({"bdb", "pydevd"})


def hide() -> None:
    """Let nobody read what this process knows, if it is one that runs jobs; called first of all."""
    if sys.platform != "linux":
        return
    number = os.environ.pop(WITHHELD, None)
    if number is not None:
        _resume(number)
    elif RUNNING_JOBS.isdisjoint(sys.argv[1:2]):
        return
    elif _is_the_program() and _has_secrets():
        _start_anew()
    kernel.hide_memory()


def shown_to_all() -> bool:
    """Whether a secret stands in the arguments of this process, because it could not be started anew."""
    arguments = os.fsdecode(Path("/proc/self/cmdline").read_bytes())
    return any(masked_in(one) != one for one in arguments.split("\0"))


def _is_the_program() -> bool:
    """Whether to start this process anew means to start the same command, and costs nobody anything.

    Somebody else's program may call ours, with what it has done before; a debugger would be lost.
    """
    main = sys.modules["__main__"]
    is_module = getattr(main.__spec__, "name", None) == "tenure.__main__"
    is_script = Path(getattr(main, "__file__", None) or "").name == "tenure"
    is_debugged = not _DEBUGGERS.isdisjoint(sys.modules)
    return (is_module or is_script) and bool(sys.executable) and not is_debugged


def _has_secrets() -> bool:
    return _masked(sys.orig_argv) != sys.orig_argv or bool(_withheld(os.environ))


def _masked(arguments: Sequence[str]) -> list[str]:
    return [masked_in(one) for one in arguments]


def _withheld(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if _SECRET.hides(name) or masked_in(value) != value
    }


def _start_anew() -> None:
    """Execute this program once more. Where the system does not let it, go on as it is."""
    withheld = _withheld(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in withheld}
    try:
        file = _sealed(json.dumps([sys.argv, withheld]).encode())
        arguments = [sys.executable, *_masked(sys.orig_argv[1:])]
        os.execve(sys.executable, arguments, {**kept, WITHHELD: str(file)})  # noqa: S606
    except OSError:
        pass


def _sealed(content: bytes) -> int:
    """A file in memory that holds this for good, its descriptor beyond those of the standard streams."""
    made = os.memfd_create("tenure", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(made, content)
    fcntl.fcntl(made, fcntl.F_ADD_SEALS, _SEALS)
    return fcntl.fcntl(made, fcntl.F_DUPFD, 3)


def _resume(number: str) -> None:
    """Put back what was withheld, and let nobody else have it."""
    kernel.hide_memory()
    try:
        file = int(number)
        if fcntl.fcntl(file, fcntl.F_GET_SEALS) != _SEALS:
            raise ValueError
        with os.fdopen(file, "rb") as opened:
            opened.seek(0)
            arguments, environment = json.load(opened)
    except (OSError, ValueError):
        sys.exit(f"Error: {WITHHELD}: is set by Tenure itself, for itself; leave it out")
    sys.argv[:] = arguments
    os.environ.update(environment)


if sys.platform == "linux":
    _SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
