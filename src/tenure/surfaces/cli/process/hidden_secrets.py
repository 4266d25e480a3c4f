"""Hides the secrets of a process that runs jobs from those jobs: it restarts itself without them.

Jobs run below it, as the same user unless they are given another one, and may read what the kernel shows of
the processes above them: the arguments, which every user of the machine may read, and the environment as it
was at the start, whatever has changed since. So the process puts both into a file in memory, executes itself
without them, and reads them back; its pid, parent, streams and ignored signals stay the same. It is made not
dumpable, which closes its memory and its descriptors to others.

This happens before anything else is imported, and once: a process that was started with the file in memory
never makes another one.
"""

import fcntl
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tenure.api.redaction import Redaction
from tenure.core.values.secret_names import REDACTED
from tenure.core.values.urls import masked, masked_argument
from tenure.execution.protocol import kernel

WITHHELD = "TENURE_WITHHELD"
"""The variable that holds the descriptor; removed before settings are read."""

RUNNING_JOBS = frozenset({"worker", "serve", "demo"})
"""The commands that run jobs."""

_SECRET = Redaction((*REDACTED, "*_headers", "*webhook_key"))
_DEBUGGERS = frozenset({"bdb", "pydevd"})


def hide() -> None:
    """Hide this process's secrets if it runs jobs; called before anything else."""
    if sys.platform != "linux":
        return
    number = os.environ.pop(WITHHELD, None)
    if number is not None:
        _resume(number)
    elif RUNNING_JOBS.isdisjoint(sys.argv[1:2]):
        return
    elif _is_the_program() and _has_secrets():
        _restart()
    kernel.hide_memory()


def _is_the_program() -> bool:
    """Whether a restart would start the same command and lose nothing.

    Another program that calls this one would lose what it has done before, and a debugger its session.
    """
    main = sys.modules["__main__"]
    is_module = getattr(main.__spec__, "name", None) == "tenure.__main__"
    is_script = Path(getattr(main, "__file__", None) or "").name == "tenure"
    is_debugged = not _DEBUGGERS.isdisjoint(sys.modules)
    return (is_module or is_script) and bool(sys.executable) and not is_debugged


def _has_secrets() -> bool:
    return any(masked_argument(one) != one for one in sys.argv[1:]) or bool(_withheld(os.environ))


def _withheld(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if _SECRET.hides(name) or masked(value) != value
    }


def _restart() -> None:
    """Execute this program again. If the system refuses, go on as it is."""
    withheld = _withheld(os.environ)
    kept = {name: value for name, value in os.environ.items() if name not in withheld}
    try:
        file = _sealed(json.dumps([sys.argv, withheld]).encode())
        own = sys.argv[1:]
        interpreter = sys.orig_argv[1 : -len(own)]  # the interpreter's own arguments
        arguments = [sys.executable, *interpreter, *map(masked_argument, own)]
        os.execve(sys.executable, arguments, {**kept, WITHHELD: str(file)})  # noqa: S606
    except OSError:
        pass


def _sealed(content: bytes) -> int:
    """A file in memory that cannot be changed; its descriptor is none of the standard streams."""
    made = os.memfd_create("tenure", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(made, content)
    fcntl.fcntl(made, fcntl.F_ADD_SEALS, _SEALS)
    return fcntl.fcntl(made, fcntl.F_DUPFD, 3)


def _resume(number: str) -> None:
    """Restore what was withheld, after closing this process's memory to others."""
    kernel.hide_memory()
    try:
        file = int(number)
        if fcntl.fcntl(file, fcntl.F_GET_SEALS) != _SEALS:
            raise ValueError
        with os.fdopen(file, "rb") as opened:
            opened.seek(0)
            arguments, environment = json.load(opened)
    except (OSError, ValueError):
        sys.exit(f"Error: {WITHHELD}: is for Tenure's own use; do not set it")
    sys.argv[:] = arguments
    os.environ.update(environment)


if sys.platform == "linux":
    _SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
