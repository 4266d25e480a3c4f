"""Writes docs/reference/http-calls.md: every call of the HTTP server, from the table of routes."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tenure.api.problem import KINDS
from tenure.surfaces.http.app.routes import JSON, Route
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.docs.html import TITLES
from tenure.surfaces.http.docs.openapi import document
from tenure.surfaces.http.docs.schema_text import Schema, SchemaText, details
from tools.tables import table

DOCUMENT = document(ROUTES)
PAGE = Path(__file__).parent.parent / "docs/reference/http-calls.md"

HEAD = """\
# Every call of the HTTP server

Written by `make states` from the table of routes, as are `/docs` and `/openapi.json` of a running server; do
not edit. [The HTTP server](http.md) explains what the calls mean, what
[problems](http.md#problems) any request may meet, and [who may call](http.md#who-may-call).
"""


def page() -> str:
    """The page as it should be now."""
    parts = [HEAD, "## In short\n", _in_short()]
    for audience, title in TITLES.items():
        parts.append(f"## {title}\n")
        parts += [part for route in ROUTES if route.audience == audience for part in _call(route)]
    parts.append("## Parts\n")
    for name in _names():
        schema = {"$ref": f"#/{name}"}
        parts += [_about(schema), _fields(name, _of(schema, "always there"))]
    parts.append("## Problems\n")
    rows = ((f"`{name}`", str(kind.status), kind.title) for name, kind in KINDS.items())
    parts.append(table(("kind", "status", ""), rows))
    return "\n".join(parts)


def _in_short() -> str:
    rows = (
        (f"[`{route.method} {route.path}`](#{_anchor(route)})", _scope(route), route.summary)
        for route in ROUTES
    )
    return table(("call", "scope", ""), rows)


def _call(route: Route) -> Iterator[str]:
    told = DOCUMENT["paths"][route.path][route.method.lower()]
    yield f"### {route.method} {route.path}\n"
    scope = f" Scope: {_scope(route)}." if route.scope is not None else ""
    yield f"{route.summary}.{scope}{_more(told)}\n"
    asked = [(one["name"], one["schema"], one.get("description", "")) for one in told["parameters"]]
    if asked:
        yield _fields("in the address or a header", asked)
    if body := told.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema"):
        yield _about(body)
        yield _fields("in the body", _of(body, "required"))
    for status, answer in ((status, told["responses"][str(status)]) for status in route.answers):
        schema = answer.get("content", {}).get(JSON, {}).get("schema")
        if schema and (fields := _of(schema, "always there")):
            yield _about(schema)
            yield _fields(f"in the answer, {status}", fields)
        else:
            yield f"Answers {status}.\n"
    if route.problems:
        own = ", ".join(f"{KINDS[kind].status} `{kind}`" for kind in route.problems)
        yield f"Problems of its own: {own}.\n"


def _of(schema: Schema, word: str) -> list[tuple[str, Schema, str]]:
    whole = SchemaText(DOCUMENT["components"]["schemas"]).resolved(schema)
    required = whole.get("required", ())
    return [
        (name, field, word if name in required else "") for name, field in whole.get("properties", {}).items()
    ]


def _more(told: Mapping[str, Any]) -> str:
    more = details(told["description"])
    return f" {more}" if more else ""


def _about(schema: Schema) -> str:
    return f"{SchemaText(DOCUMENT['components']['schemas']).about(schema)}\n"


def _names() -> list[str]:
    """The objects that stand within bodies and answers."""
    schemas = DOCUMENT["components"]["schemas"]
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    named = set(re.findall(r"'#/components/schemas/(\w+)'", str(fields)))
    return sorted(name for name in named if "properties" in schemas[name])


def _fields(title: str, fields: list[tuple[str, Schema, str]]) -> str:
    wording = SchemaText(DOCUMENT["components"]["schemas"])
    return table(
        (title, "", ""),
        ((f"`{name}`", _cell(wording.kind(kind)), _cell(said)) for name, kind, said in fields),
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _scope(route: Route) -> str:
    return " or ".join(f"`{scope}`" for scope in route.scopes) if route.scope is not None else "open to all"


def _anchor(route: Route) -> str:
    path = "".join(letter for letter in route.path.lower() if letter.isalnum() or letter in "-_")
    return f"{route.method.lower()}-{path}"


if __name__ == "__main__":
    PAGE.write_text(page())
