"""Schemas in a few words, as the page `/docs` shows them."""

from typing import Any

import pytest

from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.docs.openapi import document
from tenure.surfaces.http.docs.schema_text import SchemaText

NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$"}
SAID: dict[str, dict[str, Any]] = {
    "any JSON": {},
    "boolean": {"type": "boolean"},
    "integer, 1 to 1,000": {"type": "integer", "minimum": 1, "maximum": 1000},
    "number, at least 0": {"type": "number", "minimum": 0},
    "text, at most 255": {"type": "string", "maxLength": 255},
    "id": {"type": "string", "format": "uuid"},
    "name or null": {"anyOf": [NAME, {"type": "null"}]},
    "list of names, at most 20": {"type": "array", "items": NAME, "maxItems": 20},
    "list of NewJobBody, 1 to 9": {
        "type": "array",
        "items": {"$ref": "#/components/schemas/NewJobBody"},
        "minItems": 1,
        "maxItems": 9,
    },
    "integer, 1 to 9, by name": {
        "type": "object",
        "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "bury | retry": {"$ref": "#/components/schemas/OnLost"},
}


@pytest.mark.parametrize("words", SAID)
def test_a_schema_is_put_into_words(words: str) -> None:
    assert SchemaText(document(ROUTES)["components"]["schemas"]).kind(SAID[words]) == words
