"""Statements are taken from their files when they are first asked for, and once."""

from collections import Counter

import pytest

from tenure.storage.schema import statements
from tenure.storage.schema.statements import Statements
from tenure.storage.sqlite.scripts import Scripts

TEXTS = {
    "one": "SELECT 1;  -- why\n",
    "three": "-- part: find\nSELECT 2\n-- only: limits\n WHERE 3\n-- only: end\n-- part: answer\nSELECT 4;\n",
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was taken apart."""
    counted: Counter[str] = Counter()
    parts = statements._parts

    def counting(verb: str, text: str) -> dict[str, str]:
        counted[verb] += 1
        return parts(verb, text)

    monkeypatch.setattr(statements, "_parts", counting)
    return counted


def test_a_file_has_its_statements_by_name_in_their_order() -> None:
    found = Statements(TEXTS)
    assert [*found.file_of("three.answer").items()] == [
        ("three.find", "SELECT 2"),
        ("three.find+limits", "SELECT 2\n WHERE 3"),
        ("three.answer", "SELECT 4"),
    ]
    assert found["one"] == "SELECT 1"
    assert (len(found), [*found]) == (4, ["one", *found.file_of("three")])
    assert found.file_of("four") == {}


def test_a_file_is_taken_apart_when_it_is_needed_and_once(taken: Counter[str]) -> None:
    """To take all of them apart takes longer than a short command does."""
    found = Statements(TEXTS)
    assert found["one"] == found["one"] == found.file_of("one")["one"]
    assert taken == {"one": 1}
    assert len(found) == len([*found]) == 4
    assert taken == {"one": 1, "three": 1}


def test_to_make_a_store_takes_none_apart(taken: Counter[str]) -> None:
    Scripts()
    assert not taken
