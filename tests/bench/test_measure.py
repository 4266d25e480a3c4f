"""Pairs are interleaved, and what was disturbed is measured again, within bounds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import measure
from bench.figures import Round
from bench.measure import Contest, Watch, compared

NO_HURRY = float("inf")


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    with pytest.MonkeyPatch.context() as patch:
        # No test asks how fast the machine is.
        patch.setattr(measure, "SPIN_TURNS", 1000)
        made = Watch(tmp_path_factory.mktemp("watch"), repeats=2)
        yield made
        made.close()


class Sides:
    """Two sides that write down when they run; the left one is twice as fast."""

    def __init__(self) -> None:
        self.order = ""
        self.contest = Contest(self.left, self.right, "left", "right")

    def left(self) -> Round:
        self.order += "A"
        return Round(jobs=100, seconds=1.0)

    def right(self) -> Round:
        self.order += "B"
        return Round(jobs=100, seconds=2.0)


@pytest.fixture
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SLOWER_SPIN", NO_HURRY)
    monkeypatch.setattr(measure, "SLOWER_SYNC", NO_HURRY)


@pytest.mark.usefixtures("undisturbed")
def test_both_sides_take_turns_in_going_first(watch: Watch) -> None:
    sides = Sides()
    found = compared("any", sides.contest, pairs=4, watch=watch, deadline=NO_HURRY)
    assert sides.order == "ABBAABBA"
    [figure] = found.figures
    assert figure.samples == [2.0] * 4
    assert figure.disturbed == 0
    assert [(speed.what, len(speed.rounds)) for speed in found.speeds] == [("left", 4), ("right", 4)]


@pytest.mark.usefixtures("undisturbed")
def test_after_the_deadline_there_is_one_pair_and_no_more(watch: Watch) -> None:
    sides = Sides()
    compared("any", sides.contest, pairs=7, watch=watch, deadline=0.0)
    assert sides.order == "AB"


def test_a_disturbed_pair_is_measured_again_and_kept_when_it_stays_so(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "SLOWER_SPIN", 0.0)
    sides = Sides()
    [figure] = compared("any", sides.contest, pairs=3, watch=watch, deadline=NO_HURRY).figures
    assert len(sides.order) == 2 * (3 + watch.repeats)
    assert (len(figure.samples), figure.disturbed) == (3, 3)


def test_a_disturbed_pair_counts_when_there_is_no_time_to_measure_it_again(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "SLOWER_SPIN", 0.0)
    sides = Sides()
    [figure] = compared("any", sides.contest, pairs=3, watch=watch, deadline=0.0).figures
    assert sides.order == "AB"
    assert (len(figure.samples), figure.disturbed) == (1, 1)


@pytest.mark.usefixtures("undisturbed")
def test_a_narrow_miss_is_measured_once_more(watch: Watch) -> None:
    ratios = iter([0.6, 0.9, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9])
    contest = Contest(
        lambda: Round(jobs=1000, seconds=1 / next(ratios)), lambda: Round(jobs=1000, seconds=1.0), "", ""
    )
    [figure] = compared("postgres-loop", contest, pairs=4, watch=watch, deadline=NO_HURRY).figures
    assert len(figure.samples) == 8
    assert figure.value == pytest.approx(0.9)


def test_a_probe_takes_some_time(watch: Watch, tmp_path: Path) -> None:
    probe = watch.probe()
    assert probe.spin > 0
    assert probe.sync > 0
