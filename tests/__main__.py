"""Every check, then every test: ``python -m tests [arguments of pytest]``.

``python -m tests check`` runs the checks alone, ``python -m tests versions`` the stores' tests on every
version of PostgreSQL that is supported. The first stage that fails ends the run with its status.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Not resolved: a virtual environment's interpreter is a link, and the tools lie beside the link.
TOOLS = Path(sys.executable).parent

WORKERS = "3"
"""One more than a small machine has processors: tests often wait for leases, timeouts and disks.

Still more would mostly start more servers: every worker has its own.
"""

CHECKS: dict[str, list[str]] = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
    "import contracts": ["lint-imports", "--no-logo"],
}


def main(arguments: list[str]) -> int:
    """Run the stages in order and answer with the status of the last one run."""
    if arguments == ["versions"]:
        from tests.versions import run_all

        return run_all()
    stages = dict(CHECKS)
    if arguments != ["check"]:
        stages["tests"] = ["pytest", "-n", WORKERS, "--dist", "worksteal", *arguments]
    # Tests start hundreds of processes, which are not all to compile the same modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    for name, command in stages.items():
        print(f"== {name}: {' '.join(command)}", flush=True)
        program = [str(TOOLS / command[0]), *command[1:]]
        status = subprocess.run(program, cwd=ROOT, env=environment, check=False).returncode
        if status != 0:
            print(f"== {name} failed", flush=True)
            return status
    print(f"== all passed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
