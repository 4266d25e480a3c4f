"""The bodies that register a definition."""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.shapes import MILLIS, Key, Name, Timeout
from tenure.core.model.policy import OnLost
from tenure.core.values.bounds import HIGHEST_PRIORITY, LARGEST_LIMIT, MOST_LIMITS, MOST_TAGS

_Time = Annotated[float, Meta(ge=0, le=604_800, extra_json_schema=MILLIS)]
_Errors = Annotated[tuple[Key, ...], Meta(max_length=100)]


class RetryBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """When a job is tried again: the first and the longest wait, and which errors are retried or fatal."""

    base_seconds: _Time = 1
    cap_seconds: _Time = 300
    retry_on: _Errors = ()
    fatal_on: _Errors = ()


class DefinitionBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The policy of a definition's jobs; `replace` overwrites a version that is registered differently."""

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
