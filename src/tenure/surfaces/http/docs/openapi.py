"""The OpenAPI 3.1 document, made from the table of routes and the types it names."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec

from tenure.api.problem import KINDS, Problem
from tenure.api.views import Accepted
from tenure.core.model.states import DEAD_LETTERS, FINAL, UNFINISHED, State
from tenure.surfaces.http.app.decoding import MOST_REPEATS
from tenure.surfaces.http.app.parameters import IN_PATH, PATH_TEXTS
from tenure.surfaces.http.app.routes import EVENT_STREAM, Parameter, Route
from tenure.version import __version__

Schema = dict[str, Any]

_SCHEME = "key"
_KEYS = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "tnr_<id>_<secret>",
    "description": "A key. While the store has none, the server is open to its own machine alone.",
}
_REFERENCE = "#/components/schemas/{name}"

_HEADERS = {
    "X-Request-Id": ("The id of the request, also in the server's log", {"format": "uuid"}),
    "Location": ("The address of the job", {"format": "uri-reference"}),
    "Retry-After": ("Seconds to wait before trying again", {"pattern": "^[0-9]+$"}),
    "WWW-Authenticate": ("How to send a key", {"pattern": "^Bearer "}),
}
_ALWAYS = "X-Request-Id"
_OF_STATUS = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}
_OF_ANSWER = {Accepted: ["Location"]}

_PUBLISHED_AS = {
    "audit": "auditing",
    "bulk": "sweeping",
    "create": "creating",
    "definitions": "defining",
    "leases": "leasing",
    "operate": "operating",
    "pauses": "operating",
    "read": "looking",
    "stats": "counting",
}
"""Operation ids begin with these words, which stay: clients are generated from them."""


def _only(states: Iterable[State]) -> Schema:
    """A filter that names only these states."""
    return {"properties": {"filter": {"properties": {"status": {"items": {"enum": sorted(states)}}}}}}


_NAMES_SOMETHING = [
    {"required": ["all"], "properties": {"all": {"const": True}}},
    {"required": ["filter"], "properties": {"filter": {"minProperties": 1}}},
]
_AT_MOST_ONE_TIME: Schema = {"not": {"required": ["runAt", "delaySeconds"]}}
_TOGETHER: dict[str, Schema] = {
    "NewJobBody": _AT_MOST_ONE_TIME,
    "NewTask": {**_AT_MOST_ONE_TIME, "dependentRequired": {"idempotencyKey": ["repeat"]}},
    "Repeat": {"oneOf": [{"required": ["everySeconds"]}, {"required": ["cron"]}]},
    "CancelAllBody": {"allOf": [_only(UNFINISHED)], "anyOf": _NAMES_SOMETHING},
    "LeaseOrder": {
        "anyOf": [
            {"required": [name], "properties": {name: {"minItems": 1}}} for name in ("definitions", "queues")
        ]
    },
    "PurgeBody": {"allOf": [_only(DEAD_LETTERS)]},
    "RescheduleBody": {"oneOf": [{"required": ["runAt"]}, {"required": ["delaySeconds"]}]},
    "EffectBody": {"not": {"required": ["result"], "properties": {"happened": {"const": False}}}},
    "StepBody": {
        "not": {
            "required": ["result", "status"],
            "properties": {"status": {"enum": ["intended", "skipped"]}},
        }
    },
    "SuspendBody": {
        "oneOf": [{"required": ["forSeconds"]}, {"required": ["signal"]}],
        "dependentRequired": {"timeoutSeconds": ["signal"]},
    },
    "ReplayAllBody": {"allOf": [_only(FINAL)], "anyOf": _NAMES_SOMETHING},
}
"""Rules between the fields of a body, by its name, which their types cannot express."""


def document(routes: Collection[Route]) -> dict[str, Any]:
    """The document of these routes."""
    types = [Problem, *(kind for route in routes for kind in _types(route))]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    for name in _TOGETHER.keys() & components.keys():
        components[name].update(_TOGETHER[name])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": __version__,
            "summary": "Durable background jobs: record intent, read state.",
        },
        "tags": [{"name": "client"}, {"name": "operator"}, {"name": "worker"}, {"name": "process"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "headers": {name: _header(*header) for name, header in _HEADERS.items()},
            "securitySchemes": {_SCHEME: _KEYS},
        },
    }


def _types(route: Route) -> list[Any]:
    return [*route.answers.values(), *([] if route.body is None else [route.body])]


def _operation_id(handler: Callable[..., Any]) -> str:
    module = handler.__module__.rpartition(".")[2]
    return f"{_PUBLISHED_AS.get(module, module)}_{handler.__name__}"


def _operation(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route.handler),
        "summary": route.summary,
        "description": (route.handler.__doc__ or "").strip(),
        "tags": [route.audience],
        "parameters": [*map(_in_path, route.names), *map(_in_query, route.parameters), *_in_head(route)],
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


def _in_path(name: str) -> Schema:
    schema = IN_PATH.get(name, {"type": "string"})
    text = {"description": PATH_TEXTS[name]} if name in PATH_TEXTS else {}
    return {"name": name, "in": "path", "required": True, **text, "schema": schema}


def _in_query(parameter: Parameter) -> Schema:
    schema: Mapping[str, Any] = parameter.schema
    if parameter.many:
        schema = {"type": "array", "items": schema, "maxItems": MOST_REPEATS}
    required = {"required": True} if parameter.is_required else {}
    return {
        "name": parameter.name,
        "in": "query",
        **required,
        "description": parameter.text,
        "schema": schema,
    }


def _in_head(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": header.name, "in": "header", "description": header.text, "schema": {"type": "string"}}
        for header in route.headers
    ]


def _answers(route: Route, by_type: dict[Any, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {
        str(status): {
            "description": "accepted" if status == 202 else "done",
            "headers": _headers(_OF_ANSWER.get(kind, ())),
            "content": {route.produces: {"schema": by_type[kind]}},
        }
        for status, kind in route.answers.items()
    }
    if route.stream is not None:
        answers["200"]["content"][EVENT_STREAM] = {"schema": {"type": "string"}}
        answers["204"] = {"description": "the stream has no more events"}
    return answers


def _problems(route: Route) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for kind in route.kinds:
        by_status.setdefault(KINDS[kind].status, []).append(kind)
    return {
        str(status): {
            "description": "; ".join(f"`{kind}`: {KINDS[kind].title}" for kind in kinds),
            "headers": _headers(_OF_STATUS.get(status, ())),
            "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="Problem")}}},
        }
        for status, kinds in sorted(by_status.items())
    }


def _header(text: str, schema: Schema) -> Schema:
    return {"description": text, "required": True, "schema": {"type": "string", **schema}}


def _headers(names: Iterable[str]) -> Schema:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (_ALWAYS, *names)}
