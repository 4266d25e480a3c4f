"""How often a process sends hints, at a time that the test moves."""

import pytest

from tenure.storage.postgres.wire.hint_pace import FEW, LONG, SHORT, HintPace

MOMENT = 0.0001


class Hinting:
    """Jobs that come, and the hints that a sender would send for them."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pace = HintPace(lambda: self.now)

    def tell(self) -> None:
        self.pace.begin()
        self.pace.note_told()

    def waits_for(self, jobs: int) -> float:
        """How long these jobs wait, if a hint was sent just before them."""
        self.tell()
        self.pace.note(jobs)
        return self.pace.rest


def test_the_first_job_waits_for_nothing() -> None:
    pace = HintPace(lambda: 0.0)
    assert pace.may_go_along
    pace.note(1)
    assert pace.rest <= 0


@pytest.mark.parametrize(
    ("jobs", "silence"), [(1, SHORT), (FEW, SHORT), (FEW + 1, LONG), (1_000, LONG), (0, LONG)]
)
def test_few_jobs_are_told_of_sooner_than_a_crowd(jobs: int, silence: float) -> None:
    """What is no job that waits (room under a limit, an ending) is told of as a crowd is."""
    assert Hinting().waits_for(jobs) == pytest.approx(silence)


def test_a_crowd_that_comes_while_few_wait_makes_the_silence_longer() -> None:
    hinting = Hinting()
    hinting.waits_for(1)
    hinting.now += SHORT / 2
    hinting.pace.note(FEW)
    hinting.now += SHORT
    assert hinting.pace.rest == pytest.approx(LONG - 1.5 * SHORT)


@pytest.mark.parametrize(
    ("jobs", "lasted", "silence"), [(79, LONG, SHORT), (82, LONG, LONG), (21, 0.0, LONG)]
)
def test_the_silence_after_a_crowd_is_long_for_few_jobs_as_well(
    jobs: int, lasted: float, silence: float
) -> None:
    """More than 4,000 a second are a crowd, of which a few come first; the one after that is judged anew."""
    hinting = Hinting()
    hinting.waits_for(jobs)
    hinting.now += lasted
    assert hinting.waits_for(1) == pytest.approx(silence)
    assert hinting.pace.may_go_along == (silence == SHORT)
    hinting.now += silence
    assert hinting.waits_for(1) == pytest.approx(SHORT)


def test_jobs_that_come_while_a_hint_is_sent_are_for_the_next() -> None:
    """They are few again, and the silence begins when the hint was sent."""
    hinting = Hinting()
    hinting.waits_for(FEW)
    hinting.pace.begin()
    hinting.pace.note(1)
    hinting.now += 1.0
    hinting.pace.note_told()
    assert hinting.pace.rest == pytest.approx(SHORT)


def test_the_hint_of_a_lone_job_goes_along_with_every_commit() -> None:
    """As long as those that wait for a hint of their own are few; behind a crowd it waits, too."""
    hinting, found = Hinting(), []
    hinting.tell()
    for jobs, later in ((0, 0.0), (FEW - 1, 0.0), (1, 0.0), (0, LONG - SHORT + MOMENT)):
        hinting.pace.note(jobs)
        hinting.now += later
        found.append(hinting.pace.may_go_along)
    assert found == [True, True, False, True]


@pytest.mark.parametrize(("every", "most"), [(0.001, 250), (0.005, 250), (0.1, 12), (0.0001, 60)])
def test_hints_of_their_own_stay_few_at_every_pace(every: float, most: int) -> None:
    """In one second: each job its own hint where they are few, at most 200; 50 in a crowd of 10,000 jobs."""
    hinting, hints, end = Hinting(), 0, 101.0
    while hinting.now < end:
        hinting.now += every
        hinting.pace.note(1)
        if hinting.pace.rest <= 0:
            hinting.tell()
            hints += 1
    assert min(1 / every, 45) <= hints + 1 <= most
