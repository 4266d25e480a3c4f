"""How long things took to go on: from the fault until a job was taken back and claimed again."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from chaos.evidence import Clocks, Evidence, Terms
from chaos.faults.fault import IN_A_WRITE, Strike
from chaos.recovery import Recovery, recoveries
from tenure.core.model.outcome import Attempt, Ending

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """The store's time so long after the beginning, when the other clock was at 0."""
    return BEGIN + timedelta(seconds=seconds)


def attempt(fence: int, worker: str, started: float, ended: float, ending: Ending) -> Attempt:
    return Attempt(
        job=UUID(int=1),
        fence=fence,
        number=fence,
        worker=worker,
        started_at=at(started),
        ended_at=at(ended),
        ending=ending,
    )


EVIDENCE = Evidence(
    terms=Terms(lease=timedelta(seconds=2)),
    now=at(20),
    jobs=[],
    events=[],
    attempts=[
        attempt(1, "a", 1.0, 4.0, Ending.LOST),
        attempt(2, "b", 4.5, 5.0, Ending.SUCCEEDED),
    ],
    clocks=[Clocks(0.0, BEGIN, 0.0)],
)
KILL = Strike(fault="kill", began=2.0, ended=2.0, worker="a")


def test_time_runs_from_the_fault() -> None:
    assert recoveries(EVIDENCE, [KILL]) == {"kill": [Recovery(2.0, 2.5)]}


def test_after_a_restart_it_runs_from_the_return() -> None:
    restart = Strike(fault="restart", began=2.0, ended=4.25)
    assert recoveries(EVIDENCE, [restart]) == {"restart": [Recovery(None, 0.25)]}


def test_while_nobody_could_write_nothing_is_measured() -> None:
    """Somebody was stopped with the only lock of the file: that is no measure of how soon workers notice."""
    stall = Strike(fault="pause", began=3.0, ended=3.5, worker="c", what=IN_A_WRITE)
    assert recoveries(EVIDENCE, [KILL, stall]) == {"kill": [], "pause": []}
    before = Strike(fault="pause", began=0.5, ended=1.5, worker="c", what=IN_A_WRITE)
    assert recoveries(EVIDENCE, [KILL, before]) == {"kill": [Recovery(2.0, 2.5)], "pause": []}
