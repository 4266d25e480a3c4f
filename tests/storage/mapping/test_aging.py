"""Which claims go by age."""

from collections import Counter
from itertools import pairwise

import pytest

from tenure.storage.mapping.aging import SHARE, goes_by_age

MANY = range(1, 20_000)


def test_a_quarter_of_all_claims_goes_by_age_and_at_least_one_of_any_five() -> None:
    """S3.67: a job that has waited long enough is never far from its turn."""
    by_age = [turn for turn in MANY if goes_by_age(turn)]
    assert len(by_age) == pytest.approx(SHARE * len(MANY), rel=0.01)
    assert max(after - before for before, after in pairwise([0, *by_age])) == 5


@pytest.mark.parametrize("by_age", [True, False])
def test_lines_that_take_turns_all_get_theirs_in_either_kind_of_claim(by_age: bool) -> None:
    turns = [turn for turn in MANY if goes_by_age(turn) is by_age]
    for lines in range(2, 33):
        firsts = Counter(turn % lines for turn in turns)
        assert len(firsts) == lines
        assert min(firsts.values()) > 0.8 * max(firsts.values())
