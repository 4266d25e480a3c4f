"""Requirement numbers: few to a test, written out, and a table of them that is current."""

import re

from tools import requirements

RANGE = re.compile(r"S[0-4]\.\d+\s*(?:[-–—]|\.{2,}|…|to\b|through\b|until\b)\s*(?:S?[0-4]\.)?\d")
NOTES = requirements.PAGE.with_name("requirements-notes.md")


def test_a_test_claims_at_most_three_requirements() -> None:
    crowded = [claim[:2] for claim in requirements.claims() if len(set(claim.numbers)) > 3]
    assert not crowded


def test_a_test_names_each_requirement_and_no_range() -> None:
    ranges = [claim[:2] for claim in requirements.claims() if RANGE.search(claim.docstring)]
    assert not ranges


def test_ranges_are_told_from_lists() -> None:
    for text in ("S0.4–S0.8", "S0.4-8", "S1.2 to S1.4", "S1.2…S1.4", "S1.2 - 1.4"):
        assert RANGE.search(text), text
    for text in ("S0.4, S0.8: holds", "S0.14: only the owner", "S0.4 and S0.8", "S0.4 - late is late"):
        assert not RANGE.search(text), text


def test_the_table_of_requirements_is_current() -> None:
    assert requirements.PAGE.read_text() == requirements.render(), "run `make states`"


def test_a_note_has_a_kind_and_a_text_and_stands_once() -> None:
    rows = re.findall(r"^\| (S\S+) \| (.*?) \| (.*?) \|$", NOTES.read_text(), flags=re.MULTILINE)
    numbers = [number for number, _, _ in rows]
    assert rows
    assert len(numbers) == len(set(numbers))
    for number, kind, text in rows:
        assert requirements.NUMBER.fullmatch(number), number
        assert kind in {"reason", "non-goal", "met in meaning", "later"}, number
        assert text.endswith("."), number


def test_no_requirement_is_both_proved_and_noted() -> None:
    proved = {number for claim in requirements.claims() for number in claim.numbers}
    noted = set(re.findall(r"^\| (S\S+) \|", NOTES.read_text(), flags=re.MULTILINE))
    assert not proved & noted


def test_every_point_is_proved_or_noted() -> None:
    """And no test speaks of a point that there is not."""
    proved = {number for claim in requirements.claims() for number in claim.numbers if number[0] == "S"}
    noted = set(re.findall(r"^\| (S\S+) \|", NOTES.read_text(), flags=re.MULTILINE))
    assert set(requirements.every_point()) == proved | noted
