"""Registering definitions by PUT, for workers in other languages."""

import asyncio
import socket
import time
from typing import Any

import pytest

from tenure.core.model.policy import OnLost
from tenure.core.model.spec import Spec
from tenure.storage.contract.store import Store
from tests.storage.verbs import found
from tests.surfaces.http.http_server import Api, Reply

PATH = "/v1/definitions/resize/1"
SCHEMA = {"type": "object", "properties": {"width": {"type": "integer"}}, "required": ["width"]}
WHOLE: dict[str, Any] = {
    "queue": "slow",
    "priority": 7,
    "maxAttempts": 9,
    "timeoutSeconds": 1.5,
    "graceSeconds": 2,
    "retry": {"baseSeconds": 3, "capSeconds": 4, "retryOn": ["Busy"], "fatalOn": ["Gone"]},
    "onLost": "retry",
    "concurrency": 2,
    "concurrencyKey": "customer",
    "limits": {"gpu": 3},
    "tags": ["image"],
    "paramsSchema": SCHEMA,
}


async def _put(api: Api, body: object, path: str = PATH) -> Reply:
    return await api.call("PUT", path, body)


async def test_a_definition_is_registered_as_it_was_sent(api: Api, store: Store) -> None:
    """S1.37: key and version name it; limits, retry policy, queue, time-out and schema are its own."""
    reply = await _put(api, WHOLE)
    assert reply.status == 200
    assert {name: reply.json[name] for name in WHOLE} == WHOLE
    assert (await api.get("/v1/definitions/resize")).json["items"] == [reply.json]
    [known] = [one for one in await store.definitions() if one.key == "resize"]
    spec = Spec.read(known.spec)
    assert (spec.version, spec.policy.max_attempts, spec.policy.on_lost) == (1, 9, OnLost.RETRY)
    assert {limit.name: limit.size for limit in spec.all_limits} == {"resize": 2, "gpu": 3}


async def test_what_is_left_out_is_usual(api: Api) -> None:
    """S1.37: version 1 and up, three attempts, an hour, no limit."""
    reply = (await _put(api, {})).json
    assert (reply["maxAttempts"], reply["timeoutSeconds"], reply["concurrency"]) == (3, 3600, 0)
    assert (reply["queue"], reply["paramsSchema"]) == ("default", {"type": "object"})


async def test_jobs_are_judged_by_it_at_once(api: Api, store: Store) -> None:
    """S1.77: a schema for the params."""
    job = {"definitionKey": "resize", "params": {"width": "wide"}}
    assert (await api.post("/v1/jobs", job)).kind == "unknown-definition"
    await _put(api, WHOLE)
    refused = await api.post("/v1/jobs", job)
    assert (refused.kind, refused.json["errors"][0]["pointer"]) == ("invalid-params", "/params/width")
    made = await api.post("/v1/jobs", {"definitionKey": "resize", "params": {"width": 3}})
    [item] = (await api.get("/v1/jobs?definitionKey=resize")).json["items"]
    assert (made.status, item["queue"], item["priority"], item["maxAttempts"]) == (202, "slow", 7, 9)


async def test_the_same_again_changes_nothing(api: Api, store: Store) -> None:
    first = (await _put(api, WHOLE)).json
    assert (await _put(api, {**WHOLE, "replace": True})).json == first
    assert (await _put(api, dict(reversed(WHOLE.items())))).json == first


async def test_other_content_under_a_version_is_a_conflict_unless_replaced(api: Api, store: Store) -> None:
    await _put(api, WHOLE)
    other = {**WHOLE, "maxAttempts": 1, "limits": {"gpu": 5}}
    reply = await _put(api, other)
    assert (reply.status, reply.kind) == (409, "definition-conflict")
    assert "different content, in policy, limits; use another version" in reply.json["detail"]
    assert (await api.get("/v1/definitions/resize")).json["items"][0]["maxAttempts"] == 9
    assert (await _put(api, {**other, "replace": True})).json["maxAttempts"] == 1
    assert (await _put(api, WHOLE, "/v1/definitions/resize/2")).status == 200
    versions = [item["version"] for item in (await api.get("/v1/definitions/resize")).json["items"]]
    assert versions == [1, 2]


async def test_of_two_at_once_the_first_one_stands(api: Api) -> None:
    replies = await asyncio.gather(*(_put(api, {"maxAttempts": n}) for n in range(1, 11)))
    [made] = [reply for reply in replies if reply.status == 200]
    assert {reply.status for reply in replies} == {200, 409}
    [item] = (await api.get("/v1/definitions/resize")).json["items"]
    assert item["maxAttempts"] == made.json["maxAttempts"]


async def test_what_was_promised_to_a_job_stays(api: Api, store: Store) -> None:
    from uuid import UUID

    await _put(api, {})
    job = (await api.post("/v1/jobs", {"definitionKey": "resize"})).json["jobId"]
    await _put(api, {"maxAttempts": 50, "replace": True})
    assert (await found(store, UUID(job))).policy.max_attempts == 3


def _doubling(steps: int) -> dict[str, Any]:
    """A small schema that is a large one, with its references written out."""
    parts: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(steps)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{steps}": {"type": "object"}}}


def _deep(steps: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(steps):
        schema = {"not": schema}
    return schema


BAD_SCHEMAS: dict[str, tuple[Any, str]] = {
    "no object": (True, ""),
    "a word that is no type": ({"properties": {"a": {"type": "objec"}}}, "/properties/a/type"),
    "a remote reference": ({"properties": {"a": {"$ref": "https://localhost:1/x"}}}, "/properties/a"),
    "a file": ({"allOf": [{"$ref": "file:///etc/passwd"}]}, "/allOf/0"),
    "a relative document": ({"items": {"$dynamicRef": "other.json#x"}}, "/items"),
    "a document in the document": ({"items": {"$id": "http://a/b"}}, "/items/$id"),
    "another dialect": ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema"),
    "a dialect that is none": ({"$schema": 7}, "/$schema"),
    "a reference to nowhere": ({"$ref": "#/$defs/nope"}, ""),
    "a place in a list that is none": ({"allOf": [{"$ref": "#/allOf/" + "9" * 5000}]}, ""),
    "a back-reference": ({"properties": {"a": {"pattern": r"(a)\1"}}}, "/properties/a/pattern"),
    "look-ahead": ({"properties": {"a": {"pattern": "(?=a)b"}}}, "/properties/a/pattern"),
    "a pattern that grows": (
        {"properties": {"a": {"pattern": "((a{0,99}){0,99}){0,99}"}}},
        "/properties/a/pattern",
    ),
    "references that double": (_doubling(40), ""),
    "references that double under a name": ({"properties": {"default": _doubling(1)}} | _doubling(30), ""),
    "a long chain": (
        {"$ref": "#/$defs/0", "$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(500)}},
        "",
    ),
    "too large": ({"description": "x" * 70_000}, ""),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
async def test_a_schema_that_cannot_be_used_is_refused_at_once(api: Api, store: Store, name: str) -> None:
    """Row 29: nothing is fetched, no time is lost, and the pointer says where."""
    schema, pointer = BAD_SCHEMAS[name]
    began = time.process_time()
    reply = await _put(api, {"paramsSchema": schema})
    spent = time.process_time() - began
    assert (reply.status, reply.kind) == (422, "invalid-definition")
    assert reply.json["errors"][0]["pointer"] == f"/paramsSchema{pointer}"
    assert spent < 10  # of the processor's own time; a hundred times what it takes
    assert "resize" not in {known.key for known in await store.definitions()}


async def test_nothing_is_fetched_for_a_schema(api: Api) -> None:
    """Row 29: who listens at the address hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/schema.json"
        for schema in ({"$ref": address}, {"$schema": address}, {"items": {"$dynamicRef": f"{address}#x"}}):
            assert (await _put(api, {"paramsSchema": schema})).status == 422
        with pytest.raises(BlockingIOError):
            listening.accept()


async def test_a_pattern_that_others_match_for_ever_is_matched_at_once(api: Api) -> None:
    """Row 29: nested repetition is linear here, and so is taken."""
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    assert (await _put(api, {"paramsSchema": schema})).status == 200
    began = time.process_time()
    reply = await api.post("/v1/jobs", {"definitionKey": "resize", "params": {"a": "a" * 100_000 + "!"}})
    assert (reply.kind, time.process_time() - began < 10) == ("invalid-params", True)


async def test_a_schema_may_refer_to_itself(api: Api) -> None:
    """A tree, an anchor, and names that look like words of JSON Schema."""
    schema = {
        "type": "object",
        "properties": {
            "left": {"$ref": "#"},
            "right": {"$ref": "#tree"},
            "$ref": {"type": "string"},
            "default": {"const": {"$ref": "https://example.com"}},
        },
        "$defs": {"tree": {"$anchor": "tree", "type": "object"}},
    }
    reply = await _put(api, {"paramsSchema": schema})
    assert reply.status == 200, reply.json
    for params, status in (
        ({"left": {"left": {"left": {}}}, "$ref": "x"}, 202),
        ({"left": {"left": {"left": 5}}}, 422),
        ({"$ref": 5}, 422),
    ):
        made = await api.post("/v1/jobs", {"definitionKey": "resize", "params": params})
        assert made.status == status, params


async def test_a_schema_may_be_deep_but_not_too_deep(api: Api) -> None:
    assert (await _put(api, {"paramsSchema": _deep(50)})).status == 200
    assert (await _put(api, {"paramsSchema": _deep(70)})).kind == "too-deep"


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "version 0": ("resize/0", {}, "version"),
    "version -1": ("resize/-1", {}, "version"),
    "version 1.0": ("resize/1.0", {}, "version"),
    "version 01": ("resize/01", {}, "version"),
    "version 2^31": ("resize/2147483648", {}, "version"),
    "a full-width digit": ("resize/%EF%BC%91", {}, "version"),
    "a key that is no name": ("a%20b/1", {}, "key"),
    "a reserved key": ("system.prune/1", {}, "key"),
    "a queue that is no name": ("resize/1", {"queue": "a b"}, "/queue"),
    "priority 32768": ("resize/1", {"priority": 32_768}, "/priority"),
    "maxAttempts 0": ("resize/1", {"maxAttempts": 0}, "/maxAttempts"),
    "a time-out of 0": ("resize/1", {"timeoutSeconds": 0}, "/timeoutSeconds"),
    "a time-out too fine": ("resize/1", {"timeoutSeconds": 1.00001}, "/timeoutSeconds"),
    "a cap below its base": ("resize/1", {"retry": {"baseSeconds": 5, "capSeconds": 1}}, "/retry/capSeconds"),
    "a key without a limit": ("resize/1", {"concurrencyKey": "to"}, "/concurrencyKey"),
    "a key that no params have": (
        "resize/1",
        {"concurrency": 1, "concurrencyKey": "to", "paramsSchema": {**SCHEMA, "additionalProperties": False}},
        "/concurrencyKey",
    ),
    "a limit of 0": ("resize/1", {"limits": {"gpu": 0}}, "/limits/..."),
    "lost and never found": ("resize/1", {"onLost": "cry"}, "/onLost"),
    "a lane": ("resize/1", {"lane": "process"}, "/lane"),
    "one tag twice": ("resize/1", {"tags": ["a", "a"]}, "/tags"),
}


async def test_a_definition_that_cannot_be_taken_is_refused(api: Api, store: Store) -> None:
    before = await store.definitions()
    answer = {}
    for name, (path, body, _) in BAD.items():
        reply = await _put(api, body, f"/v1/definitions/{path}")
        [error] = reply.json["errors"]
        answer[name] = (reply.status, error.get("pointer") or error["parameter"])
    assert answer == {name: (422, where) for name, (_, _, where) in BAD.items()}
    assert await store.definitions() == before
    assert not api.bugs
