"""A definition as data: what code declares for its jobs, in a form that is stored and sent.

The stored document has flat names in the database's own style: views in the database show some of them. A
reader takes the fields it knows and ignores the rest, so that two versions of Tenure can share a database.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lanes import LANES, PROCESS
from tenure.core.model.limit import Limit, checked_keys, key_in
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.values.bounds import (
    HIGHEST_PRIORITY,
    LARGEST_LIMIT,
    MOST_LIMITS,
    MOST_TAGS,
    distinct,
    named,
    printable,
    whole,
)
from tenure.core.values.documents import EMPTY, Document, write

HOOKS = ("on_start", "on_retry", "on_success", "on_fail", "on_end")
"""The hooks that a definition may have, in the order of a job's life."""

ANY_OBJECT = Document('{"type":"object"}')
"""The schema of params that are not described."""

_RESERVED = "system."
_MOST_MEMORY = 2**50


class Spec(Struct, frozen=True, kw_only=True):
    """What a definition declares for its jobs.

    `concurrency` bounds how many of them run at once; with `concurrency_key` it does so separately for each
    value of that param, or for each key that a caller names instead. `limits` are shared with other
    definitions by name. `memory` (bytes), `cpu` (seconds) and `files` (a number) bound one attempt's process;
    for memory and files None means the worker's default, and 0 means no bound.
    `environment` names the variables that it is given, and `database` the one that has the address for
    transactions of its handler's own.
    """

    key: str
    version: int = 1
    queue: str = "default"
    priority: int = 0
    policy: Policy = Policy()
    lane: str = PROCESS
    concurrency: int = 0
    concurrency_key: str | None = None
    limits: tuple[Limit, ...] = ()
    tags: tuple[str, ...] = ()
    params_schema: Document = ANY_OBJECT
    hooks: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    database: str | None = None
    memory: int | None = None
    cpu: int | None = None
    files: int | None = None

    def __post_init__(self) -> None:
        named("key", self.key)
        named("queue", self.queue)
        whole("version", self.version, 1, 2**31 - 1)
        whole("priority", self.priority, -HIGHEST_PRIORITY, HIGHEST_PRIORITY)
        whole("concurrency", self.concurrency, 0, LARGEST_LIMIT)
        if self.concurrency_key is not None and not self.concurrency:
            raise InvalidInput("concurrency_key", "needs a limit", "give concurrency as well")
        names = [limit.name for limit in self.limits]
        distinct("limits", [*names, *self._own_name()], MOST_LIMITS)
        distinct("tags", self.tags, MOST_TAGS)
        for tag in self.tags:
            named("tags", tag)
        if self.memory:
            whole("memory", self.memory, 2**20, _MOST_MEMORY)
        if self.cpu is not None:
            whole("cpu", self.cpu, 1, 7 * 86_400)
        if self.files:
            whole("files", self.files, 16, 2**20)

    @property
    def all_limits(self) -> tuple[Limit, ...]:
        """Every limit of the definition, its own first, all without keys."""
        own = [Limit(name, size=self.concurrency) for name in self._own_name()]
        return (*own, *self.limits)

    def document(self) -> Document:
        """The definition as it is stored."""
        return write(_StoredSpec.of(self))

    @classmethod
    def read(cls, document: Document) -> "Spec":
        """Decode a stored definition. Raises InvalidInput if the document is not one."""
        try:
            return msgspec.json.decode(document, type=_StoredSpec).spec()
        except msgspec.ValidationError as error:
            raise InvalidInput("spec", f"is not a definition: {error}") from None

    def new_job(
        self,
        params: Document,
        *,
        queue: str | None = None,
        priority: int | None = None,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
        tags: Sequence[str] = (),
        concurrency_keys: Sequence[str] = (),
        delay: timedelta | None = None,
        run_at: datetime | None = None,
        hold: bool = False,
        namespace: str = "default",
        creator: str | None = None,
        traceparent: str | None = None,
        idempotency_key: str | None = None,
        sent_version: int | None = None,
    ) -> NewJob:
        """A job of this definition, with its policy and limits; `sent_version` as in `scope_of`.

        With `concurrency_keys` it counts under each of them instead of the key in its params. They are
        refused if the definition has no `concurrency_key`: its limit is then one total for all jobs.
        """
        policy = self.policy
        if max_attempts is not None:
            policy = msgspec.structs.replace(policy, max_attempts=max_attempts)
        if timeout is not None:
            policy = msgspec.structs.replace(policy, timeout=timeout)
        if isinstance(tags, str):
            raise InvalidInput("tags", "is one string", "give a list of names")
        return NewJob(
            definition=self.key,
            version=self.version,
            params=params,
            queue=self.queue if queue is None else queue,
            priority=self.priority if priority is None else priority,
            namespace=namespace,
            creator=creator,
            traceparent=traceparent,
            scope="" if idempotency_key is None else scope_of(self.key, sent_version),
            key=idempotency_key,
            run_at=run_at,
            delay=delay,
            hold=hold,
            policy=policy,
            limits=self._limits_for(params, concurrency_keys),
            tags=tuple(dict.fromkeys((*self.tags, *tags))) if tags else self.tags,
        )

    def new_jobs(self, params: Iterable[Document], **options: Any) -> list[NewJob]:
        """Jobs of this definition that differ in their params; `options` as for `new_job`."""
        if self.concurrency_key is not None and not options.get("concurrency_keys"):
            return [self.new_job(document, **options) for document in params]
        model = self.new_job(EMPTY, **options)
        return [like(model, document) for document in params]

    def _own_name(self) -> list[str]:
        # One name for all versions: what it protects rarely has versions, and a deploy must not double it.
        return [self.key] if self.concurrency else []

    def _limits_for(self, params: Document, keys: Sequence[str]) -> tuple[Limit, ...]:
        if keys and self.concurrency_key is None:
            remedy = f"leave them out, or give {self.key} a concurrency and a concurrency_key"
            raise InvalidInput("concurrency_keys", "have no limit that counts by key", remedy)
        if not self.concurrency:
            return self.limits
        own, *shared = self.all_limits
        if keys:
            counted = checked_keys(keys, MOST_LIMITS - len(shared))
        else:
            counted = ["" if self.concurrency_key is None else key_in(self.key, params, self.concurrency_key)]
        return (*(Limit(own.name, key, own.size) for key in counted), *shared)


def like(model: NewJob, params: Document, key: str | None = None) -> NewJob:
    """A copy of a model without a key, with other params; the rest was checked when the model was made.

    Use it only if the definition's limits do not depend on the params.
    """
    job: NewJob = model.__copy__()  # type: ignore[attr-defined]  # as every struct has it
    force_setattr(job, "params", params)
    if key is not None:
        printable("key", key, least=1)
        force_setattr(job, "scope", job.definition)
        force_setattr(job, "key", key)
    return job


def scope_of(key: str, sent_version: int | None) -> str:
    """The scope in which an idempotency key of the library and of `/v1` is unique.

    Only a version that the caller named is part of it: without one, the job is found after a deploy too.
    """
    return key if sent_version is None else f"{key}@{sent_version}"


def is_reserved(key: str) -> bool:
    """Whether only Tenure itself may use a key."""
    return key.startswith(_RESERVED)


def refuse_reserved(key: str) -> None:
    """Refuse a key that only Tenure itself may use."""
    if is_reserved(key):
        raise InvalidInput("key", f"begins with {_RESERVED!r}, which is reserved", "choose another name")


def check_lane(spec: Spec) -> None:
    """Refuse an unknown lane, and options that its lane does not support.

    Checks what code declares, not what is stored: a later version with other lanes may have written that.
    """
    if spec.lane not in tuple(LANES):  # which may be no text at all
        raise InvalidInput("lane", f"is {spec.lane!r:.64}", f"give one of {', '.join(LANES)}")
    if not LANES[spec.lane].is_shared:
        return
    if spec.policy.on_lost is OnLost.BURY:
        problem = f'is "bury" in lane {spec.lane}, where a neighbour\'s crash can end an attempt'
        raise InvalidInput("on_lost", problem, 'use lane "process", or let its jobs be retried')
    for name in ("memory", "cpu", "files"):
        if getattr(spec, name) is not None:
            problem = f"is set for one definition in lane {spec.lane}, whose attempts share a process"
            raise InvalidInput(name, problem, 'use lane "process" or "warm", or leave it out')
    if spec.environment:
        problem = f"is given in lane {spec.lane}, where all other attempts would see it as well"
        remedy = 'use lane "process" or "warm", or name it in TENURE_CHILD_ENV, which is for all attempts'
        raise InvalidInput("environment", problem, remedy)


class _Retry(Struct, frozen=True):
    base_seconds: float = 1
    cap_seconds: float = 300
    retry_on: tuple[str, ...] = ()
    fatal_on: tuple[str, ...] = ()


class _StoredSpec(Struct, frozen=True, kw_only=True):
    """A definition as it is stored."""

    key: str
    version: int = 1
    queue: str = "default"
    priority: int = 0
    max_attempts: int = 3
    timeout_seconds: float = 3600
    grace_seconds: float = 10
    on_lost: OnLost = OnLost.RETRY
    retry: _Retry = _Retry()
    lane: str = PROCESS
    concurrency: int = 0
    concurrency_key: str | None = None
    limits: dict[str, int] = {}
    tags: tuple[str, ...] = ()
    params_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    hooks: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    database: str | None = None
    memory: int | None = None
    cpu: int | None = None
    files: int | None = None

    @classmethod
    def of(cls, spec: Spec) -> "_StoredSpec":
        policy, retry = spec.policy, spec.policy.retry
        alike = {name: getattr(spec, name) for name in _ALIKE}
        return cls(
            **alike,
            max_attempts=policy.max_attempts,
            timeout_seconds=_seconds(policy.timeout),
            grace_seconds=_seconds(policy.grace),
            on_lost=policy.on_lost,
            retry=_Retry(_seconds(retry.base), _seconds(retry.cap), retry.retry_on, retry.fatal_on),
            limits={limit.name: limit.size for limit in spec.limits},
            params_schema=json.loads(spec.params_schema),
        )

    def spec(self) -> Spec:
        alike = {name: getattr(self, name) for name in _ALIKE}
        return Spec(
            **alike,
            policy=Policy(
                max_attempts=self.max_attempts,
                timeout=timedelta(seconds=self.timeout_seconds),
                grace=timedelta(seconds=self.grace_seconds),
                on_lost=self.on_lost,
                retry=RetryPolicy(
                    base=timedelta(seconds=self.retry.base_seconds),
                    cap=timedelta(seconds=self.retry.cap_seconds),
                    retry_on=self.retry.retry_on,
                    fatal_on=self.retry.fatal_on,
                ),
            ),
            limits=tuple(Limit(name, size=size) for name, size in self.limits.items()),
            params_schema=write(self.params_schema),
        )


_ALIKE = tuple(name for name in Spec.__struct_fields__ if name in _StoredSpec.__struct_fields__)
_ALIKE = tuple(name for name in _ALIKE if name not in {"limits", "params_schema"})


def _seconds(duration: timedelta) -> float:
    seconds = duration.total_seconds()
    return int(seconds) if seconds.is_integer() else seconds
