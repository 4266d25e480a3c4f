"""The OpenAPI 3.1 document, made from the table of routes and the types it names."""

from functools import cache
from typing import Any

import msgspec

from tenure.surfaces.http.problems import KINDS, Problem
from tenure.surfaces.http.routes import EVENT_STREAM, Route
from tenure.surfaces.http.table import ROUTES
from tenure.version import __version__

_SCHEME = "key"
_KEYS = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "tnr_<id>_<secret>",
    "description": "A key, where the store has any; without one the server is open to its own machine.",
}
_REFERENCE = "#/components/schemas/{name}"


@cache
def encoded() -> bytes:
    """The document as it is sent."""
    return msgspec.json.encode(document())


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    types = [Problem, *(kind for route in ROUTES for kind in _types(route))]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": __version__,
            "summary": "Durable background jobs: record intent, read state.",
        },
        "tags": [{"name": "client"}, {"name": "operator"}, {"name": "process"}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {_SCHEME: _KEYS}},
    }


def _types(route: Route) -> list[Any]:
    return [*route.answers.values(), *([] if route.body is None else [route.body])]


def _operation(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.handler.__module__.rpartition('.')[2]}_{route.handler.__name__}",
        "summary": route.summary,
        "description": (route.handler.__doc__ or "").strip(),
        "tags": [route.audience],
        "parameters": [*_in_path(route), *_in_query(route), *_in_head(route)],
        "responses": {**_answers(route, by_type), **_problems(route)},
    }
    if route.scope is not None:
        operation["x-scopes"] = route.scopes
        operation["security"] = [{_SCHEME: [scope]} for scope in route.scopes]
    if route.body is not None:
        operation["requestBody"] = {
            "required": route.needs_body,
            "content": {"application/json": {"schema": by_type[route.body]}},
        }
    return operation


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "format": "uuid"} if name == "jobId" else {"type": "string"},
        }
        for name in route.names
    ]


def _in_query(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "description": parameter.text,
            "schema": {"type": "array", "items": parameter.schema} if parameter.many else parameter.schema,
        }
        for parameter in route.parameters
    ]


def _in_head(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": header.name, "in": "header", "description": header.text, "schema": {"type": "string"}}
        for header in route.headers
    ]


def _answers(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {
        str(status): {
            "description": "accepted" if status == 202 else "done",
            "content": {route.produces: {"schema": by_type[kind]}},
        }
        for status, kind in route.answers.items()
    }
    if route.stream is not None:
        answers["200"]["content"][EVENT_STREAM] = {"schema": {"type": "string"}}
        answers["204"] = {"description": "nothing more will come on the stream"}
    return answers


def _problems(route: Route) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for kind in route.kinds:
        by_status.setdefault(KINDS[kind].status, []).append(kind)
    return {
        str(status): {
            "description": ", ".join(kinds),
            "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="Problem")}}},
        }
        for status, kinds in sorted(by_status.items())
    }
