"""Figures beside their targets: which are good enough, and which may be chance."""

import pytest

from bench.figures import figure_of
from bench.goals import GOALS, SCHEDULE_GOALS, WORKER_GOALS, Goal

FASTER = Goal("faster", must=0.8, stretch=0.9)
SMALLER = Goal("smaller", must=2500, stretch=1800, unit="B", more_is_better=False)


def test_a_ratio_is_better_the_larger_it_is() -> None:
    assert [FASTER.is_met(value) for value in (0.79, 0.8, 1.0)] == [False, True, True]
    assert [FASTER.is_stretched(value) for value in (0.8, 0.9)] == [False, True]


def test_bytes_are_better_the_fewer_there_are() -> None:
    assert [SMALLER.is_met(value) for value in (2501, 2500, 1)] == [False, True, True]
    assert [SMALLER.is_stretched(value) for value in (2500, 1800)] == [False, True]


def test_only_a_miss_within_the_spread_may_be_chance() -> None:
    assert FASTER.is_missed_narrowly(0.78, spread=0.05)
    assert not FASTER.is_missed_narrowly(0.70, spread=0.05)
    assert not FASTER.is_missed_narrowly(0.81, spread=0.05)


@pytest.mark.parametrize("goal", [*GOALS.values(), *WORKER_GOALS.values(), *SCHEDULE_GOALS.values()])
def test_a_stretch_is_further_than_a_must(goal: Goal) -> None:
    assert goal.is_met(goal.stretch)
    assert not goal.is_stretched(goal.must)


def test_a_figure_is_the_median_with_its_quartiles() -> None:
    figure = figure_of("any", [5.0, 1.0, 2.0, 4.0, 3.0])
    assert (figure.low, figure.value, figure.high) == (2.0, 3.0, 4.0)
    assert figure_of("one", [7.0]).value == 7.0
