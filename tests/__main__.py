"""Every check and every test: ``python -m tests [arguments of pytest]``.

``python -m tests check`` runs the checks alone, ``python -m tests versions`` the stores' tests on every
version of PostgreSQL that is supported. The first stage that fails ends the run with its status.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.provisions import bring

ROOT = Path(__file__).parent.parent
# Not resolved: a virtual environment's interpreter is a link, and the tools lie beside the link.
TOOLS = Path(sys.executable).parent

WORKERS = "6"
"""Three times as many as a small machine has processors: tests often wait for leases and timeouts.

Still more would mostly start more servers: every worker has its own.
"""

QUICK: dict[str, list[str]] = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "import contracts": ["lint-imports", "--no-logo"],
}
TYPES = ["mypy"]
TESTS = ["pytest", "-n", WORKERS, "--dist", "worksteal", "--costs", "-o", "tmp_path_retention_policy=failed"]

COLLECTION = ["pytest", "--collect-only", "--quiet"]
"""Writes down what Python and pytest compile: else each of the workers would compile every module."""

MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes that must be free there: far more than a run writes, so that other programs keep theirs."""


def main(arguments: list[str]) -> int:
    """Run what is asked for and answer with the status of what has failed, or 0."""
    if arguments == ["versions"]:
        from tests.versions import run_all

        return run_all()
    began = time.monotonic()
    for name, command in QUICK.items():
        if status := _start(name, command).wait():
            return _failed(name, status)
    status = _check_types() if arguments == ["check"] else _check_types_and_test(arguments)
    if status == 0:
        print(f"== all passed in {time.monotonic() - began:.0f} s", flush=True)
    return status


def _check_types() -> int:
    status = _start("types", TYPES).wait()
    return _failed("types", status) if status else 0


def _check_types_and_test(arguments: list[str]) -> int:
    """Side by side: to check the types takes a minute of one processor."""
    types = _start("types", TYPES, stdout=subprocess.PIPE, text=True)
    bring()
    if not _is_compiled():
        _start("compile", COLLECTION, stdout=subprocess.DEVNULL).wait()
    tests = _start("tests", [*TESTS, *arguments], place=_swift_place())
    judging = threading.Thread(target=_end_if_failed, args=(types, tests))
    judging.start()
    status = tests.wait()
    judging.join()
    if types.returncode:
        return _failed("types", types.returncode)
    return _failed("tests", status) if status else 0


def _is_compiled() -> bool:
    return any((ROOT / "tests" / "__pycache__").glob("conftest.*-pytest-*.pyc"))


def _end_if_failed(types: "subprocess.Popen[str]", tests: "subprocess.Popen[str]") -> None:
    said, _ = types.communicate()
    if types.returncode:
        print(f"\n{said}", flush=True)
        # As Ctrl-C does, so that they stop their servers.
        tests.send_signal(signal.SIGINT)


def _swift_place() -> Path | None:
    """A folder in memory for temporary files, where there is room for it.

    SQLite waits for the disk at every commit. No test cuts the power of a disk: those about it watch what is
    written and when. Of earlier runs pytest leaves what belongs to tests that failed in the last three.
    """
    place = MEMORY / f"tenure-tests-{os.getuid()}"
    try:
        if shutil.disk_usage(MEMORY).free < ROOM or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
            return None
        place.mkdir(mode=0o700, exist_ok=True)
        return place if place.stat().st_uid == os.getuid() else None
    except OSError:
        return None


def _start(
    name: str, command: list[str], place: Path | None = None, **streams: Any
) -> "subprocess.Popen[str]":
    # Tests start hundreds of processes, which are not all to compile the same modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if place:
        environment["TMPDIR"] = str(place)
    print(f"== {name}: {' '.join(command)}", flush=True)
    program = [str(TOOLS / command[0]), *command[1:]]
    return subprocess.Popen(program, cwd=ROOT, env=environment, **streams)


def _failed(name: str, status: int) -> int:
    print(f"== {name} failed", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
