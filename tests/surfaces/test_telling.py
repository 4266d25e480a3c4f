"""What a worker says on a terminal: whatever jobs put into their errors, it is one line and nothing else."""

import pytest

from tenure.core.signals import HookFailed, Signal, Troubled
from tenure.surfaces.cli.telling import said


@pytest.mark.parametrize(
    "signal",
    [
        HookFailed("01890000-0000-7000-8000-000000000001", "on_end", "\x1b[2Jgone\nforged"),
        Troubled("dispatch", "first\n\x1b[2Jgone", 1),
        Troubled("dispatch", "", 1),
    ],
)
def test_nothing_that_a_job_says_moves_the_cursor(signal: Signal) -> None:
    text = said(signal)
    assert text is not None
    assert text.isprintable()
