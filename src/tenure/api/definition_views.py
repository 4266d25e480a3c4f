"""Definitions as operators see and change them: what the code declares, and the overrides, part by part.

`DefinitionItem` is the object of the control API, in camelCase; `views` has those of jobs.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import UNSET, Raw, Struct, UnsetType, structs

from tenure.core.model.override import Backoff, Override
from tenure.core.model.policy import OnLost
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition

Parts = Mapping[str, float]
"""Values by the names in PARTS; times are seconds."""

PARTS = ("priority", "max-attempts", "timeout", "grace", "retry-base", "retry-cap")
"""What an operator may override."""

COUNTS = frozenset({"priority", "max-attempts"})
"""The parts that are plain numbers; the others are times."""


class BackoffItem(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How long to wait before another attempt; holds only what is set."""

    base_seconds: float | None = None
    cap_seconds: float | None = None


class OverrideItem(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an operator has set; holds only that."""

    priority: int | None = None
    max_attempts: int | None = None
    timeout_seconds: float | None = None
    grace_seconds: float | None = None
    retry: BackoffItem | None = None


class RetryItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """When a failed job gets another attempt."""

    base_seconds: float
    cap_seconds: float
    retry_on: Sequence[str]
    fatal_on: Sequence[str]


class DefinitionItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A definition as its code declares it; `override` has what applies instead.

    Limits and workers belong to all namespaces, so a caller that is bound to one does not see them.
    """

    definition_key: str
    version: int
    lane: str
    queue: str
    priority: int
    max_attempts: int
    timeout_seconds: float
    grace_seconds: float
    retry: RetryItem
    on_lost: OnLost
    concurrency: int | UnsetType = UNSET
    concurrency_key: str | UnsetType | None = UNSET
    limits: Mapping[str, int] | UnsetType = UNSET
    tags: Sequence[str]
    hooks: Sequence[str]
    environment: Sequence[str]
    database: str | None
    memory: int | None
    cpu: int | None
    files: int | None
    params_schema: Raw
    override: OverrideItem
    registered_at: datetime | None
    registered_by: str | UnsetType = UNSET


_SHARED = ("concurrency", "concurrency_key", "limits", "registered_by")


class Defined:
    """A stored definition, parsed. Raises InvalidInput if it or its override is not valid."""

    def __init__(self, known: Definition) -> None:
        self.known = known
        self.spec = Spec.read(known.spec)
        self.override = Override() if known.override is None else Override.read(known.override)
        self.override.check(self.spec)

    def said(self) -> Parts:
        """What the code declares."""
        policy = self.spec.policy
        times = (policy.timeout, policy.grace, policy.retry.base, policy.retry.cap)
        values = (self.spec.priority, policy.max_attempts, *(time.total_seconds() for time in times))
        return dict(zip(PARTS, values, strict=True))

    def item(self, *, is_namespaced: bool = False) -> DefinitionItem:
        """The definition for the control API; `is_namespaced` if the caller is bound to a namespace."""
        return (
            structs.replace(self._item(), **dict.fromkeys(_SHARED, UNSET)) if is_namespaced else self._item()
        )

    def _item(self) -> DefinitionItem:
        spec, policy, override = self.spec, self.spec.policy, self.override
        return DefinitionItem(
            definition_key=spec.key,
            version=spec.version,
            lane=spec.lane,
            queue=spec.queue,
            priority=spec.priority,
            max_attempts=policy.max_attempts,
            timeout_seconds=policy.timeout.total_seconds(),
            grace_seconds=policy.grace.total_seconds(),
            retry=RetryItem(
                base_seconds=policy.retry.base.total_seconds(),
                cap_seconds=policy.retry.cap.total_seconds(),
                retry_on=policy.retry.retry_on,
                fatal_on=policy.retry.fatal_on,
            ),
            on_lost=policy.on_lost,
            concurrency=spec.concurrency,
            concurrency_key=spec.concurrency_key,
            limits={limit.name: limit.size for limit in spec.limits},
            tags=spec.tags,
            hooks=spec.hooks,
            environment=spec.environment,
            database=spec.database,
            memory=spec.memory,
            cpu=spec.cpu,
            files=spec.files,
            params_schema=Raw(spec.params_schema),
            override=OverrideItem(
                priority=override.priority,
                max_attempts=override.max_attempts,
                timeout_seconds=override.timeout_seconds,
                grace_seconds=override.grace_seconds,
                retry=None if override.retry == Backoff() else _backoff_item(override.retry),
            ),
            registered_at=self.known.registered_at,
            registered_by=self.known.registered_by,
        )


def _backoff_item(backoff: Backoff) -> BackoffItem:
    return BackoffItem(base_seconds=backoff.base_seconds, cap_seconds=backoff.cap_seconds)


def name_of(known: Definition) -> str:
    """Key and version in one text."""
    return f"{known.key}@{known.version}"


def parts_of(override: Override) -> dict[str, float]:
    """What an override sets, by the names of the parts."""
    retry = override.retry
    times = (override.timeout_seconds, override.grace_seconds, retry.base_seconds, retry.cap_seconds)
    values = (override.priority, override.max_attempts, *times)
    return {name: value for name, value in zip(PARTS, values, strict=True) if value is not None}


def override_of(parts: Parts) -> Override:
    """The override that sets these parts."""
    priority, attempts = (int(parts[name]) if name in parts else None for name in PARTS[:2])
    timeout, grace, base, cap = (parts.get(name) for name in PARTS[2:])
    return Override(
        priority=priority,
        max_attempts=attempts,
        timeout_seconds=timeout,
        grace_seconds=grace,
        retry=Backoff(base_seconds=base, cap_seconds=cap),
    )


def shown(name: str, value: float) -> str:
    """The value of a part as people read it."""
    return f"{value:.10g}" if name in COUNTS else f"{value:.10g}s"
