"""Long tests begin first, one in each process, and no test is lost or run twice for it."""

from pathlib import Path

import pytest

from tests.order import LONG, SHARING, arranged

ROOT = Path(__file__).parents[2]


def test_every_place_of_long_tests_is_there() -> None:
    assert [place for place in (*LONG, *SHARING) if not (ROOT / place).exists()] == []
    assert [place for place in SHARING if place not in LONG] == []


@pytest.mark.parametrize(
    ("long", "others", "pieces"), [(7, 93, 6), (2, 11, 3), (9, 3, 4), (0, 5, 2), (3, 0, 6)]
)
def test_no_test_is_lost_and_none_comes_twice(long: int, others: int, pieces: int) -> None:
    made = arranged([[one] for one in range(-long, 0)], range(others), pieces)
    assert sorted(made) == list(range(-long, others))
    assert [one for one in made if one >= 0] == list(range(others))


def test_each_process_begins_with_a_long_test() -> None:
    """By the pieces that xdist makes: of what is left, an equal part for each process."""
    made = arranged([[one] for one in range(-8, 0)], range(101), 6)
    begins, rest = [], list(made)
    for left in range(6, 0, -1):
        size = len(rest) // left
        begins.append(rest[0])
        del rest[:size]
    assert begins == list(range(-8, -2))
    assert made[:2] == [-8, -2]


def test_those_that_share_servers_are_in_one_piece() -> None:
    made = arranged([[-9], [-8, -7, -6, -5], [-4], [-3]], range(20), 2)
    assert made[:2] == [-9, -4]
    assert made[13:18] == [-8, -7, -6, -5, -3]
