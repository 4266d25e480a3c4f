"""Tokens, tabs, and further words of a search."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.surfaces.dashboard.pages.jobs.list_query import Listing
from tenure.surfaces.dashboard.pages.jobs.search import joined, read
from tenure.surfaces.dashboard.pages.jobs.tokens import ALWAYS_SHOWN, states_text, tabs, tokens, total

NONE = {state: Count(0) for state in State}


def _listing(text: str, *states: State) -> Listing:
    return Listing(read(text), states)


def test_each_word_is_a_token_with_the_list_without_it() -> None:
    listing = _listing('mail.welcome queue:mail error:"no route" after:2030-01-01T00:00:00Z', State.FAILED)
    assert [(token.label, token.value) for token in tokens(listing)] == [
        ("definition", "mail.welcome"),
        ("queue", "mail"),
        ("error", "no route"),
        ("created after", "2030-01-01T00:00:00Z"),
    ]
    assert tokens(listing)[1].href == (
        "/ui/jobs?q=definition:mail.welcome%20error:%22no%20route%22%20"
        "after:2030-01-01T00:00:00Z&status=failed"
    )


def test_further_words_are_added_and_the_same_word_is_replaced() -> None:
    before = read("mail.welcome queue:mail")
    assert joined(before, "tag:red") == "definition:mail.welcome queue:mail tag:red"
    assert joined(before, "queue:slow") == "definition:mail.welcome queue:slow"
    assert joined(before, "report.build") == "queue:mail definition:report.build"
    assert joined(before, 'error:"a b"') == 'definition:mail.welcome queue:mail error:"a b"'
    assert joined(before, " 0123ABCD ") == "0123ABCD"
    with pytest.raises(InvalidInput):
        joined(before, "colour:red")


def test_states_without_jobs_have_no_tab_unless_they_are_chosen_or_come_and_go() -> None:
    counts = {**NONE, State.FAILED: Count(118), State.CREATED: Count(1000, is_more=True)}
    listing = _listing("", State.BURIED, State.FAILED)
    shown = {tab.state: tab for tab in tabs(listing, counts)}
    assert set(shown) == {None, *ALWAYS_SHOWN, State.CREATED, State.BURIED}
    assert str(shown[None].count) == "1,118+"
    assert [state for state, tab in shown.items() if tab.is_on] == [State.FAILED, State.BURIED]
    assert shown[State.FAILED].href == "/ui/jobs?status=failed"
    assert str(total(listing, counts)) == "118"
    assert states_text(listing.states) == "dead"
    uncounted = tabs(listing, None)
    assert len(uncounted) == len(State) + 1
    assert {tab.count for tab in uncounted} == {None}
