"""Where bars, lines and ticks stand: nothing is drawn that did not happen."""

from itertools import pairwise

import pytest

from tenure.surfaces.dashboard.figures import svg


def percent(text: str) -> float:
    assert text.endswith("%")
    return float(text[:-1])


def test_a_bar_is_as_high_as_its_value_and_stands_on_the_one_below() -> None:
    good, bad = svg.bars([{"good": 30, "bad": 10}], 100)
    assert (percent(good.y), percent(good.height)) == (70, 30)
    assert (percent(bad.y), percent(bad.height)) == (60, 10)
    assert percent(good.y) + percent(good.height) == 100


def test_nothing_is_no_bar_and_little_is_a_bar_that_can_be_seen() -> None:
    assert svg.bars([{"good": 0}, {}], 100) == []
    [least] = svg.bars([{"bad": 1}], 1_000_000)
    assert percent(least.height) >= 1


def test_a_line_breaks_where_a_value_is_missing() -> None:
    drawn = svg.line([1, 2, None, 3, 4, None, 5], 5, "accent")
    middles = [svg.per_cent((n + 0.5) / 7) for n in range(7)]
    assert [(one.x1, one.x2) for one in drawn.segments] == [
        (middles[0], middles[1]),
        (middles[3], middles[4]),
    ]
    [alone] = drawn.dots
    assert percent(alone.x) == pytest.approx(100 * 6.5 / 7, abs=0.01)
    assert percent(alone.y) == 0


@pytest.mark.parametrize("most", [0, 0.003, 1, 7, 38, 99, 101, 12_345, 9_999_999])
def test_a_grid_has_round_numbers_up_to_the_highest_value(most: float) -> None:
    grid = svg.scale(most)
    assert grid[0] == 0
    assert most <= grid[-1] * 1.001
    assert grid[-1] <= 2 * most or most == 0
    assert len({round(b - a, 9) for a, b in pairwise(grid)}) == 1


def test_counts_have_a_grid_of_whole_numbers() -> None:
    for most in range(30):
        assert all(value == int(value) for value in svg.scale(most, is_whole=True))


def test_the_newest_tick_is_at_the_right_and_missing_ones_leave_room() -> None:
    first, last = svg.ticks([svg.Run("good", 0.5), svg.Run("warn", 1.0, is_hollow=True)], 10)
    assert percent(last.x) > 90 > percent(first.x) > 80
    assert (last.form, first.form) == ("hollow", "")
    assert len(svg.ticks([svg.Run("good")] * 30, 10)) == 10


def test_each_place_has_one_hit_and_all_together_the_whole_width() -> None:
    hits = svg.hits(["a", "b", "c", "d"])
    assert [hit.title for hit in hits] == ["a", "b", "c", "d"]
    assert sum(percent(hit.width) for hit in hits) == 100


def test_labels_keep_the_first_and_the_last() -> None:
    texts = [str(n) for n in range(59)]
    assert svg.labels(texts)[0] == "0"
    assert svg.labels(texts)[-1] == "58"
    assert len(svg.labels(texts)) == 6
    assert svg.labels(["a", "b"]) == ["a", "b"]
