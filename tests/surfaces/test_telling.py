"""What a worker says on a terminal: whatever jobs put into their errors, it is one line and nothing else."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tenure.core.documents import Document
from tenure.core.lease import Claimed, Lease
from tenure.core.outcome import Report, Succeeded
from tenure.core.policy import Policy
from tenure.core.signals import AttemptSettled, HookFailed, Signal, Troubled
from tenure.core.states import State
from tenure.surfaces.cli import telling
from tenure.surfaces.cli.telling import Teller, said


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


def success(n: int) -> AttemptSettled:
    lease, now = Lease(UUID(int=n), n), datetime.now(UTC)
    claimed = Claimed(
        lease=lease,
        namespace="default",
        definition="mail",
        version=1,
        queue="default",
        params=Document("{}"),
        policy=Policy(),
        attempt=1,
        traceparent=None,
        queued_at=now,
        started_at=now,
    )
    return AttemptSettled(claimed, Report(lease, Succeeded(Document("null"))), State.SUCCEEDED)


async def test_successes_that_come_faster_than_anybody_reads_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else is left out, and every one is told in some way."""
    monkeypatch.setattr(telling, "MOST_A_SECOND", 3)
    monkeypatch.setattr("time.monotonic", lambda: 1000.0)
    later: list[object] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda _, sum_up: later.append(sum_up))
    tell = Teller()
    for n in range(10):
        tell(success(n))
    tell(Troubled("dispatch", "away", 1))
    [sum_up] = later
    assert callable(sum_up)
    sum_up()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    assert told[-1].endswith("7 more succeeded")
