"""What is said of two schemas that differ, and whether waiting jobs may be in trouble."""

from dataclasses import dataclass, field, make_dataclass
from typing import Any, Literal

import pytest

from tenure.core.values.documents import Document
from tenure.core.values.schema_changes import schema_changes
from tenure.surfaces.library.params import params_of


def params(**fields: Any) -> Document:
    """The schema of a dataclass with these fields: a type, or a type and a default."""
    made = [
        (name, *((kind[0], field(default=kind[1])) if isinstance(kind, tuple) else (kind,)))
        for name, kind in sorted(fields.items(), key=lambda one: isinstance(one[1], tuple))
    ]
    return params_of(make_dataclass("Mail", made)).schema


@dataclass
class Place:
    city: str


@dataclass
class Elsewhere:
    city: int


@pytest.mark.parametrize(
    ("before", "after", "said", "breaks"),
    [
        ({}, {"cc": str}, "cc is new and required", True),
        ({}, {"cc": (str, "")}, "cc is new and has a default", False),
        ({"cc": str}, {}, "cc is gone", True),
        ({"n": str}, {"n": int}, "n was str and is int", True),
        ({"n": int}, {"n": float}, "n was int and is float", False),
        ({"n": float}, {"n": int}, "n was float and is int", True),
        ({"n": str}, {"n": str | None}, "n was str and is str | None", False),
        ({"n": str | None}, {"n": str}, "n was str | None and is str", True),
        ({"n": list[str]}, {"n": list[int]}, "n was list[str] and is list[int]", True),
        ({"n": str}, {"n": Literal["a"]}, 'n was str and is Literal["a"]', True),
        ({"n": dict}, {"n": Place}, "n was dict and is Place", True),
        ({"n": (str, "")}, {"n": str}, "n is now required", True),
        ({"n": str}, {"n": (str, "")}, "n has a default now", False),
        ({"n": (str, "a")}, {"n": (str, "b")}, "n has another default", False),
        ({"at": Place}, {"at": Elsewhere}, "at.city was str and is int", True),
        ({"at": Place | None}, {"at": Elsewhere | None}, "at was Place | None and is Elsewhere | None", True),
    ],
)
def test_each_difference_is_told_by_its_field(
    before: dict[str, Any], after: dict[str, Any], said: str, breaks: bool
) -> None:
    found = schema_changes(params(to=str, **before), params(to=str, **after))
    assert found == [(said, breaks)]


def test_a_change_behind_an_alternative_is_found() -> None:
    moved = make_dataclass("Place", [("city", int)])
    [change] = schema_changes(params(at=Place | None), params(at=moved | None))
    assert change == ("Place.city was str and is int", True)


def test_what_is_the_same_has_no_changes_and_what_cannot_be_told_is_taken_for_one_that_breaks() -> None:
    assert schema_changes(params(to=str), params(to=str)) == []
    assert schema_changes(Document('{"type":"object"}'), Document('{"type":"object","title":"A"}')) == [
        ("types have other names or descriptions", False)
    ]
    for strange in ('{"type":"object","not":{}}', '{"$ref":"#"}', '{"anyOf":[{"$ref":"#/$defs/no"}]}'):
        [change] = schema_changes(Document('{"type":"object","minProperties":1}'), Document(strange))
        assert change.breaks
