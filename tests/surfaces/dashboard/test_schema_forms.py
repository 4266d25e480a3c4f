"""The fields that a schema of params gets, and the document that is read from them."""

import json
from typing import Any

import pytest

from tenure.core.values.documents import write
from tenure.surfaces.dashboard.forms.posted import as_json, from_fields, from_json, name_of
from tenure.surfaces.dashboard.forms.schema_fields import (
    FieldGroup,
    FieldKind,
    FormField,
    Part,
    flat,
    form_of,
)

ORDER = {
    "type": "object",
    "properties": {
        "order": {"type": "integer"},
        "amount": {"type": "number"},
        "currency": {"enum": ["EUR", "USD", "GBP"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "send_copy": {"type": "boolean", "default": False},
        "at": {"type": "string", "format": "date-time"},
        "lines": {"type": "array", "items": {"type": "string"}},
        "address": {"$ref": "#/$defs/Address"},
    },
    "required": ["order", "amount", "currency"],
    "$defs": {
        "Address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["city"],
        }
    },
}
IN_JSON = 'write such as ["a", 1], with texts in quotes'
FILLED = {"p/order": "84121", "p/amount": "129.90", "p/currency": '"EUR"'}


def parts_of(schema: Any) -> list[Part]:
    parts = form_of(write(schema))
    assert parts is not None
    return list(parts)


def one(schema: Any, *, required: bool = False) -> FormField:
    wanted = {"required": ["x"]} if required else {}
    [part] = parts_of({"type": "object", "properties": {"x": schema}, **wanted})
    assert isinstance(part, FormField)
    return part


def sent(text: str, schema: Any, **rest: Any) -> Any:
    """What the params become, or the problem."""
    posted = from_fields([one(schema, **rest)], {"p/x": text} if text else {})
    return json.loads(posted.document) if posted.document is not None else posted.problems["p/x"]


def test_each_type_has_its_kind_of_field() -> None:
    *fields, group = parts_of(ORDER)
    assert [(part.label, part.hint) for part in fields] == [
        ("order", "whole number, required"),
        ("amount", "decimal, required"),
        ("currency", "one of 3, required"),
        ("note", "text, may be left out"),
        ("send_copy", "yes or no, default no"),
        ("at", "time, UTC, may be left out"),
        ("lines", "JSON, may be left out"),
    ]
    assert isinstance(group, FieldGroup)
    assert (group.label, [part.hint for part in group.parts]) == (
        "address",
        ["text, required", "text, may be left out"],
    )


def test_what_is_filled_in_becomes_the_params_and_blanks_are_left_out() -> None:
    values = {**FILLED, "p/send_copy": "true", "p/at": "2026-01-31T09:30", "p/lines": '["a"]'}
    posted = from_fields(parts_of(ORDER), {**values, "p/address/city": "Bonn"})
    assert posted.document == (
        '{"order":84121,"amount":129.90,"currency":"EUR","send_copy":true,"at":"2026-01-31T09:30:00Z",'
        '"lines":["a"],"address":{"city":"Bonn"}}'
    )
    assert from_fields(parts_of(ORDER), FILLED).document == '{"order":84121,"amount":129.90,"currency":"EUR"}'


def test_what_is_missing_or_wrong_is_told_beside_its_field_with_what_to_write() -> None:
    posted = from_fields(parts_of(ORDER), {"p/amount": "129,90", "p/address/zip": "53111", "p/at": "soon"})
    assert posted.document is None
    assert posted.problems == {
        "p/order": "is missing; write digits, such as 42",
        "p/amount": "is not a decimal number; write 129.90",
        "p/currency": "is missing; choose one",
        "p/at": "is 'soon'; write one such as 2030-01-31T08:30:00Z",
        "p/address/city": "is missing; write a text",
    }


@pytest.mark.parametrize(
    ("text", "schema", "became"),
    [
        ("12.5", {"type": "integer"}, "is not a whole number; write such as 42"),
        ("1,000", {"type": "integer"}, "is not a whole number; write 1000"),
        ("+7", {"type": "integer"}, "is not a whole number; write 7"),
        ("007", {"type": "integer"}, "is not a whole number; write such as 42"),
        (" -3 ", {"type": "integer"}, {"x": -3}),
        ("9" * 308, {"type": "integer"}, {"x": int("9" * 308)}),
        ("9" * 309, {"type": "integer"}, "is too long; write at most 308 digits"),
        ("0.12345678901234567890", {"type": "number"}, {"x": 0.12345678901234568}),
        ("NaN", {"type": "number"}, "is not a decimal number; write such as 129.90"),
        ("1e999", {"type": "number"}, "is too large; write one below 1e308"),
        ("\u0661\u0662", {"type": "integer"}, "is not a whole number; write such as 42"),
        ('"CHF"', {"enum": ["EUR"]}, "is none of the choices; choose one of them"),
        ("2", {"enum": [1, 2, None]}, {"x": 2}),
        ("maybe", {"type": "boolean"}, "is none of the choices; choose one of them"),
        (" ", {"type": "string"}, {"x": " "}),
        ("\u202eevil <script>", {"type": "string"}, {"x": "\u202eevil <script>"}),
        ("null", {"type": "string"}, {"x": "null"}),
        ("[a]", {"type": "array"}, f"is not JSON (Expecting value: line 1, column 2); {IN_JSON}"),
        ('{"a":1,"a":2}', {"type": "object"}, f"appears more than once in its object; {IN_JSON}"),
    ],
)
def test_a_text_becomes_a_value_or_is_told_what_is_wrong(text: str, schema: Any, became: Any) -> None:
    assert sent(text, schema) == became


def test_a_required_field_that_may_be_null_is_null_where_it_is_left_blank() -> None:
    may_be_null = {"type": ["integer", "null"]}
    assert sent("", may_be_null, required=True) == {"x": None}
    assert sent("", may_be_null) == {}
    assert one(may_be_null, required=True).hint == "whole number, blank for null"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"x": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"x": {}}, "oneOf": [{"required": ["x"]}]},
        {"type": "object", "properties": {f"x{n}": {} for n in range(61)}},
        {"$ref": "#/$defs/none"},
        {"$ref": "#"},
        {"type": "array"},
    ],
)
def test_what_no_fields_can_say_is_written_as_json(schema: Any) -> None:
    assert form_of(write(schema)) is None


def test_a_schema_that_leads_to_itself_ends_in_a_field_for_json() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    fields = list(flat(parts_of({"$ref": "#/$defs/Node", "$defs": {"Node": node}})))
    assert [(field.path, field.kind) for field in fields] == [(("next",) * 3, FieldKind.JSON)]


def test_names_of_any_characters_are_told_apart() -> None:
    names = ["a/b", "a~b", "a b", "ä", "\u202e", "<b>", "", "p"]
    parts = parts_of({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    fields = [part for part in parts if isinstance(part, FormField)]
    assert len({name_of(field) for field in fields}) == len(names)
    assert all(name_of(field).isascii() and name_of(field).isprintable() for field in fields)
    values = {name_of(field): field.label or "none" for field in fields}
    document = from_fields(parts, values).document
    assert document is not None
    assert json.loads(document) == {name: name or "none" for name in names}


def test_a_field_that_the_definition_no_longer_has_is_told() -> None:
    posted = from_fields(parts_of(ORDER), {**FILLED, "p/gone": "1"})
    assert posted.problems == {
        "": "p/gone is not a field of this definition any more: look at the form again"
    }


def test_json_takes_up_what_the_fields_hold_also_what_is_wrong_in_them() -> None:
    text = as_json(parts_of(ORDER), {**FILLED, "p/amount": "129,90"})
    assert json.loads(text) == {"order": 84121, "amount": "129,90", "currency": "EUR"}
    assert from_json('{"order": 1}').document == '{"order":1}'
    assert from_json("").document == "{}"
    assert from_json("{order: 1}").problems["params"].startswith("is not JSON")
