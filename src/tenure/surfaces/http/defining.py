"""The control API's way to register definitions, for workers that are not written in Python."""

import re
from datetime import timedelta
from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.core.bounds import HIGHEST_PRIORITY, LARGEST_LIMIT, MOST_LIMITS, MOST_TAGS
from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.limit import Limit
from tenure.core.policy import OnLost, Policy, RetryPolicy
from tenure.core.spec import ANY_OBJECT, Spec, refuse_reserved
from tenure.surfaces.definition_views import Defined
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.intent import document
from tenure.surfaces.http.problems import Refusal, invalid
from tenure.surfaces.http.shapes import MILLIS, Key, Name, Timeout, given

_FIELDS = {
    "max_attempts": "maxAttempts",
    "timeout": "timeoutSeconds",
    "grace": "graceSeconds",
    "retry.base": "retry/baseSeconds",
    "retry.cap": "retry/capSeconds",
    "retry.retry_on": "retry/retryOn",
    "retry.fatal_on": "retry/fatalOn",
    "concurrency_key": "concurrencyKey",
}
BY = "api"
_Time = Annotated[float, Meta(ge=0, le=604_800, extra_json_schema=MILLIS)]
_Errors = Annotated[tuple[Key, ...], Meta(max_length=100)]


class RetryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """When a job is tried again: how long to wait at first and at most, and which errors say otherwise."""

    base_seconds: _Time = 1
    cap_seconds: _Time = 300
    retry_on: _Errors = ()
    fatal_on: _Errors = ()


class DefinitionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What is to hold for the jobs of a definition; `replace` what was registered otherwise before."""

    queue: Name = "default"
    priority: Annotated[int, Meta(ge=-HIGHEST_PRIORITY, le=HIGHEST_PRIORITY)] = 0
    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    timeout_seconds: Timeout = 3600
    grace_seconds: Annotated[float, Meta(ge=0, le=86_400, extra_json_schema=MILLIS)] = 10
    retry: RetryBody = RetryBody()
    on_lost: OnLost = OnLost.RETRY
    concurrency: Annotated[int, Meta(ge=0, le=LARGEST_LIMIT)] = 0
    concurrency_key: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    limits: Annotated[
        dict[Name, Annotated[int, Meta(ge=1, le=LARGEST_LIMIT)]], Meta(max_length=MOST_LIMITS)
    ] = {}
    tags: Annotated[
        tuple[Name, ...], Meta(max_length=MOST_TAGS, extra_json_schema={"uniqueItems": True})
    ] = ()
    params_schema: Annotated[Raw, Meta(extra_json_schema={"type": "object"})] | UnsetType = UNSET
    replace: bool = False


async def put(desk: Desk, asked: Asked) -> Answer:
    """Register a definition. The same again changes nothing; something else is refused unless replaced."""
    body: DefinitionBody = asked.body
    version = _version(asked.path["version"])
    is_bound = bool(asked.caller.definitions or asked.caller.queues)
    try:
        spec = _spec(asked.path["key"], version, body)
        await _check_bounds(desk, asked.caller, spec)
        # A limit may be shared with definitions that are none of a bound key's business.
        known = await desk.client.register(spec, by=BY, replace=body.replace, resizes=not is_bound)
    except InvalidInput as error:
        raise _refusal(error) from None
    if known.spec != spec.document():
        said = "the version is registered with other content; give another version, or replace: true"
        raise Refusal("definition-conflict", said)
    return Answer(200, Defined(known).item())


async def _check_bounds(desk: Desk, caller: Caller, spec: Spec) -> None:
    """Refuse what a key must not register that is bound to definitions or queues.

    No version of the definition may stand in a queue beyond the key's own: new jobs go to the latest one, so
    that another version would draw them away from those who serve them.
    """
    if not caller.knows(spec.key):
        raise Refusal("insufficient-scope", "the key is bound to other definitions")
    if not caller.queues:
        return
    known = {Spec.read(one.spec).queue for one in await desk.client.definitions() if one.key == spec.key}
    if not caller.queues >= known | {spec.queue}:
        raise Refusal("insufficient-scope", "the key is bound to other queues than this definition's")


def _version(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,9}", text) or int(text) >= 2**31:
        raise invalid("validation", "is no whole number from 1 to 2147483647", parameter="version")
    return int(text)


def _spec(key: str, version: int, body: DefinitionBody) -> Spec:
    schema = given(body.params_schema)
    refuse_reserved(key)
    return Spec(
        key=key,
        version=version,
        queue=body.queue,
        priority=body.priority,
        policy=_policy(body),
        concurrency=body.concurrency,
        concurrency_key=body.concurrency_key,
        limits=tuple(Limit(name, size=size) for name, size in sorted(body.limits.items())),
        tags=body.tags,
        params_schema=ANY_OBJECT if schema is None else document(schema, "/paramsSchema"),
    )


def _refusal(error: InvalidInput) -> Refusal:
    said = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
    if error.field == "key":
        return invalid("validation", said, parameter="key")
    place = f"paramsSchema{error.pointer}" if isinstance(error, InvalidJson) else _FIELDS.get(error.field)
    return invalid("invalid-definition", said, pointer=f"/{place or error.field}")


def _policy(body: DefinitionBody) -> Policy:
    return Policy(
        max_attempts=body.max_attempts,
        timeout=timedelta(seconds=body.timeout_seconds),
        grace=timedelta(seconds=body.grace_seconds),
        on_lost=body.on_lost,
        retry=RetryPolicy(
            base=timedelta(seconds=body.retry.base_seconds),
            cap=timedelta(seconds=body.retry.cap_seconds),
            retry_on=body.retry.retry_on,
            fatal_on=body.retry.fatal_on,
        ),
    )
