"""The kinds of timers: one list, which every statement of both stores goes by."""

import re

import pytest

from tenure.core.model.states import TIMERS
from tenure.storage.schema import statements
from tests.whole import STORES

KINDS = {kind for kinds in TIMERS.values() for kind in kinds}
LIST = re.compile(r"\bkind (?:NOT )?IN \(([^()]*)\)")


@pytest.mark.parametrize("store", STORES)
def test_every_list_of_kinds_is_the_one_of_the_core(store: str) -> None:
    """A kind that one statement knows and another does not would be counted and never taken."""
    lists = {
        (name, frozenset(re.findall(r"'(\w+)'", found)))
        for name, text in statements.load(f"tenure.storage.{store}").items()
        for found in LIST.findall(text)
    }
    assert {kinds for _, kinds in lists} == {frozenset(KINDS)}
    by_id = {"claim_these"} if store == "sqlite" else set[str]()  # PostgreSQL promotes these by `promote`
    assert {name.partition(".")[0].partition("+")[0] for name, _ in lists} == by_id | {
        "promote",
        "outlook",
        "cancel",
        "sift",
        "obstacles",
    }
