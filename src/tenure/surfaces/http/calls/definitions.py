"""The control API's call to register definitions, for workers that are not written in Python."""

import re
from datetime import timedelta

from tenure.api.definition_shapes import DefinitionBody
from tenure.api.definition_views import Defined
from tenure.api.shapes import given
from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.model.definition_changes import definition_changes
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy, RetryPolicy
from tenure.core.model.spec import ANY_OBJECT, Spec, refuse_reserved
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid, problem_and_remedy
from tenure.surfaces.http.calls.intent import document

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


async def put(context: AppContext, request: Request) -> Response:
    """Register a definition. The same content again changes nothing; other content needs `replace`."""
    body: DefinitionBody = request.body
    version = _version(request.path["version"])
    is_bound = bool(request.caller.definitions or request.caller.queues)
    try:
        spec = _spec(request.path["key"], version, body)
        await _check_bounds(context, request.caller, spec)
        # A limit may be shared with definitions that a bound key may not change.
        known = await context.client.register(spec, by=BY, replace=body.replace, resizes=not is_bound)
    except InvalidInput as error:
        raise _refusal(error) from None
    if known.spec != spec.document():
        changes = definition_changes(Spec.read(known.spec), spec)
        content = f"different content, {changes}" if changes else "different content"
        detail = f"this version is registered with {content}; use another version, or replace: true"
        raise Refusal("definition-conflict", detail)
    return Response(200, Defined(known).item())


async def _check_bounds(context: AppContext, caller: Caller, spec: Spec) -> None:
    """Refuse a definition that a key may not register, since it is bound to other definitions or queues.

    No version of the definition may be in a queue that the key is not for: new jobs go to the latest version,
    so that another version would draw them away from the workers that serve them.
    """
    if not caller.knows(spec.key):
        raise Refusal("insufficient-scope", "the key is not for this definition")
    if not caller.queues:
        return
    known = {Spec.read(one.spec).queue for one in await context.client.definitions() if one.key == spec.key}
    if not caller.queues >= known | {spec.queue}:
        raise Refusal("insufficient-scope", "the key is not for every queue of this definition")


def _version(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,9}", text) or int(text) >= 2**31:
        raise invalid("validation", "is not a whole number from 1 to 2147483647", parameter="version")
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
    detail = problem_and_remedy(error)
    if error.field == "key":
        return invalid("validation", detail, parameter="key")
    place = f"paramsSchema{error.pointer}" if isinstance(error, InvalidJson) else _FIELDS.get(error.field)
    return invalid("invalid-definition", detail, pointer=f"/{place or error.field}")


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
