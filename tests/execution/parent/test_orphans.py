"""Which orphans are adopted, and which of them are ended. That a worker does so: see `tests/worker`."""

import ctypes
import os
import subprocess
import sys

from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.protocol import kernel
from tests.execution.attempts import ROOT

PR_GET_CHILD_SUBREAPER = 37


def test_a_process_that_has_children_of_its_own_adopts_nobody() -> None:
    with subprocess.Popen(["sleep", "3600"]) as child:
        try:
            OrphanGuards.adopting()
            answer = ctypes.c_int(-1)
            ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
            assert answer.value == 0
            assert child.poll() is None
        finally:
            child.kill()


def test_an_orphan_that_never_had_a_guard_is_left_alone() -> None:
    """As process 1 of a container a worker adopts whatever was left there.

    Where no process may gain privileges, strangers look like a handler's processes, and are ended too.
    """
    is_told_apart = not kernel.has_forgone_privileges(os.getpid())
    assert _said() == [f"stranger: {is_told_apart}, ward: False"]


def test_whoever_is_given_up_is_named() -> None:
    """Not in silence: an operator has to look for a process that cannot be ended."""
    warning, ward = _said("hurry")
    assert warning == f"processes of attempts are left that could not be ended: {ward}"


def _said(*arguments: str) -> list[str]:
    said = subprocess.run(
        [sys.executable, "-m", "tests.execution.orphan_adopter", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    return said.stdout.splitlines()
