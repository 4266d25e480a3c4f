"""A concurrency_key that no params can have is refused where it is written; what may be there is taken."""

from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.spec import Spec
from tenure.core.values.documents import write
from tenure.engine.client.registry import Registry

Schema = dict[str, Any]


def closed(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


TEXT: Schema = {"type": "string"}
PERSON = {"$ref": "#/$defs/person"}
NESTED = {**closed(who=PERSON, tags={"type": "array", "items": TEXT}), "$defs": {"person": closed(name=TEXT)}}
ENDLESS = {**closed(next={"$ref": "#"}, also={"allOf": [{"$ref": "#"}]}), "description": "holds itself"}

TAKEN: dict[str, tuple[str, Schema]] = {
    "a param": ("to", closed(to=TEXT)),
    "one of a pattern": (
        "to",
        {"type": "object", "patternProperties": {"^t": TEXT}, "additionalProperties": False},
    ),
    "any name": ("to", {"type": "object"}),
    "any name of a kind": ("to", {"type": "object", "additionalProperties": TEXT}),
    "a name beside others that are known": ("to", {"type": "object", "properties": {"cc": TEXT}}),
    "what a pointer leads to": ("/who/name", NESTED),
    "a place in a list": ("/tags/0", NESTED),
    "one of several kinds": ("to", {"anyOf": [closed(cc=TEXT), closed(to=TEXT)]}),
    "far down": ("/next/also/next/next", ENDLESS),
    "a name with a slash": ("/a~1b~0c", closed(**{"a/b~c": TEXT})),
    "a name as it is": ("a/b", closed(**{"a/b": TEXT})),
    "too deep to decide": ("/next" * 50, ENDLESS),
}
REFUSED: dict[str, tuple[str, Schema]] = {
    "a typing error": ("tto", closed(to=TEXT)),
    "what no params are": ("to", closed()),
    "a name as a pointer": ("/who/nmae", NESTED),
    "a pointer as a name": ("who/name", NESTED),
    "a name in a list": ("/tags/first", NESTED),
    "something inside of a text": ("/to/name", closed(to=TEXT)),
    "none of several kinds": ("to", {"anyOf": [closed(cc=TEXT), closed(bcc=TEXT)]}),
    "one of all kinds": ("to", {"allOf": [{"type": "object"}, closed(cc=TEXT)]}),
    "far down": ("/next/also/nxt", ENDLESS),
    "a param that may not be": ("to", closed(to=False)),
}


def spec(place: str, schema: Schema) -> Spec:
    return Spec(key="mail", concurrency=1, concurrency_key=place, params_schema=write(schema))


@pytest.mark.parametrize("name", TAKEN)
def test_what_params_may_have_is_taken(name: str) -> None:
    Registry().add(spec(*TAKEN[name]))


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_params_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"^concurrency_key: .* is no param of mail@1; "):
        Registry().add(spec(*REFUSED[name]))


def test_the_refusal_names_the_params_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"'tto' is no param of mail@1; give one of to, cc, "):
        Registry().add(spec("tto", closed(to=TEXT, cc=TEXT)))


def test_a_schema_that_branches_without_end_is_judged_soon() -> None:
    """Each node is looked at once for each step: anything more would double with every one of them."""
    two = [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]
    schema = {**closed(a={"anyOf": two}), "$defs": {"a": {**closed(a={"anyOf": two})}}}
    with pytest.raises(InvalidInput, match="is no param"):
        Registry().add(spec("/a" * 40 + "/b", schema))
