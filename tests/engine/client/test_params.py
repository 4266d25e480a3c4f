"""Params are validated by a schema: what fits, and the problems of what does not."""

import json
import socket
from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.values.documents import Document, write
from tenure.core.values.misfits import MOST_PROBLEMS
from tenure.engine.client.params import ParamsCheck

SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
        "inner": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"a/b": {"type": "integer"}},
                    "required": ["a/b"],
                    "additionalProperties": False,
                },
                {"type": "null"},
            ]
        },
        "list": {"type": "array", "items": {"type": "integer"}},
        "id": {"type": "string", "format": "uuid"},
    },
    "required": ["to"],
    "additionalProperties": False,
}


def problems(params: Any, schema: Any = SCHEMA) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.text) for problem in ParamsCheck(write(schema)).problems(write(params))]


@pytest.mark.parametrize(
    "params",
    [
        {"to": "a"},
        {"to": "a", "count": 50.0},
        {"to": "a", "inner": None},
        {"to": "a", "inner": {"a/b": 1}, "list": []},
        {"to": "a", "id": "01890a5d-ac96-774b-bcce-b302099a8057"},
    ],
)
def test_what_fits_has_no_problems(params: Any) -> None:
    assert problems(params) == []


@pytest.mark.parametrize(
    ("params", "pointer", "text"),
    [
        ({}, "/to", "is missing"),
        ({"to": 1}, "/to", 'is not of type "string"'),
        ({"to": "a", "too": 1}, "/too", "is not known"),
        ({"to": "a", "count": 0}, "/count", "is less than the minimum of 1"),
        ({"to": "a", "count": 50.5}, "/count", 'is not of type "integer"'),
        ({"to": "a", "count": True}, "/count", 'is not of type "integer"'),
        ({"to": "a", "inner": {}}, "/inner/a~1b", "is missing"),
        ({"to": "a", "inner": {"a/b": "x"}}, "/inner/a~1b", 'is not of type "integer"'),
        ({"to": "a", "list": [1, "x"]}, "/list/1", 'is not of type "integer"'),
        ({"to": "a", "id": "no"}, "/id", 'is not a "uuid"'),
        ([], "", 'is not of type "object"; give one object with all params, such as {"to": …} in JSON'),
    ],
)
def test_a_pointer_leads_to_what_is_wrong(params: Any, pointer: str, text: str) -> None:
    """S1.77: params are held against a schema."""
    assert problems(params) == [(pointer, text)]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "additionalProperties": False}, {"/a": "is not known", "/b~1": "is not known"}),
        ({"unevaluatedProperties": False}, {"/a": "is not known", "/b~1": "is not known"}),
        ({"propertyNames": False}, {"/a": "is not known", "/b~1": "is not known"}),
        ({"properties": {"a": {"additionalProperties": False}}}, {"/a/c": "is not known"}),
        ({"properties": {"a": False}}, {"/a": "is not allowed"}),
        (False, {"": "is not allowed"}),
    ],
)
def test_a_schema_that_allows_no_property_names_those_there_are(
    schema: Any, expected: dict[str, str]
) -> None:
    assert dict(problems({"a": {"c": 1}, "b/": 2}, schema)) == expected


def test_several_problems_are_told_at_once() -> None:
    found = problems({"to": 1, "count": "x", "a": 1, "b": 2})
    assert sorted(pointer for pointer, _ in found) == ["/a", "/b", "/count", "/to"]


def test_no_more_are_told_than_somebody_would_read() -> None:
    assert len(problems({"to": "a", "list": ["x"] * 1000})) == MOST_PROBLEMS


def test_no_value_is_repeated() -> None:
    """Params may hold secrets, and problems may be logged."""
    assert "s3cret" not in json.dumps(problems({"to": ["s3cret"], "count": "s3cret", "inner": "s3cret"}))


@pytest.mark.parametrize(
    "schema",
    [{"type": "strin"}, {"pattern": "("}, {"pattern": "(?=a)b"}, {"$ref": "#/$defs/nowhere"}],
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        ParamsCheck(write(schema))
    assert caught.value.field == "params_schema"


def test_nothing_is_fetched_for_a_schema() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(InvalidInput, match="nothing is fetched"):
            ParamsCheck(write({"$ref": address}))
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_pattern_that_would_run_away_does_not() -> None:
    """Left to a backtracking engine this takes longer than any test may."""
    assert problems({"x": "a" * 5000 + "!"}, {"properties": {"x": {"pattern": "^(a+)+$"}}})


def test_a_document_that_is_a_file_is_not_read() -> None:
    with pytest.raises(InvalidInput, match="nothing is fetched"):
        ParamsCheck(Document('{"$ref":"file:///etc/hostname"}'))
