"""A decorated function: calling it runs the plain function, and its methods enqueue jobs."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpec, TypeVar, Unpack

from tenure.api.job_options import Options, checked
from tenure.core.model.job import NewJob
from tenure.core.model.spec import Spec, like
from tenure.core.values.documents import EMPTY, write
from tenure.core.values.other_words import answering_other_words
from tenure.engine.client.registry import Registry
from tenure.storage.contract.draft import Connection
from tenure.surfaces.library.enqueue import record, record_one, record_sync
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.signature import hook_of

P = ParamSpec("P")
R = TypeVar("R")
Hook = TypeVar("Hook", bound=Callable[..., Any])


@answering_other_words
class JobDefinition(Generic[P, R]):
    """A function that runs as a job, made by `@app.job`."""

    key: str
    """The name by which callers know it, such as `email.welcome`."""
    version: int
    """Its version."""

    def __init__(
        self,
        function: Callable[P, R],
        name: tuple[str, int],
        namespace: str,
        registry: Registry,
        on: Runtimes,
    ) -> None:
        self.function = function
        self.key, self.version = name
        self._namespace = namespace
        self._registry = registry
        self._runtimes = on
        self._model: tuple[Spec, NewJob] | None = None
        self.__wrapped__ = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, as if it were not decorated: for tests."""
        return self.function(*args, **kwargs)

    @property
    def spec(self) -> Spec:
        """The definition as data."""
        return self._registry.get(self.key, self.version)

    def new_job(self, params: object = None, **options: Unpack[Options]) -> NewJob:
        """A job as it would be enqueued, for `app.enqueue_many`. Nothing is written."""
        document = EMPTY if params is None else write(params)
        spec = self._registry.get(self.key, self.version)
        key = options.get("idempotency_key")
        # The key names the function, not its version: after a deploy a repeated call must find its job.
        if len(options) > (key is not None) or spec.concurrency_key is not None:
            known = checked(options, schema=spec.params_schema)
            return spec.new_job(document, namespace=self._namespace, **known)
        if self._model is None or self._model[0] is not spec:  # adding a hook replaces the spec
            self._model = spec, spec.new_job(EMPTY, namespace=self._namespace)
        return like(self._model[1], document, key)

    async def enqueue(
        self, params: object = None, *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> JobHandle:
        """Record a job. When this returns, the job is kept, whatever happens.

        With `connection`, the job is written in its open transaction, and kept once that commits.
        """
        return await record_one(self._runtimes, self.new_job(params, **options), connection)

    async def enqueue_many(
        self, params: Iterable[object], *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> list[JobHandle]:
        """Record many jobs with the same options, all or none, in one transaction; at most 10,000."""
        return await record(self._runtimes, self._new_jobs(params, options), connection)

    def enqueue_sync(
        self, params: object = None, *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> JobHandle:
        """`enqueue` for plain synchronous code."""
        [handle] = record_sync(self._runtimes, [self.new_job(params, **options)], connection)
        return handle

    def enqueue_many_sync(
        self, params: Iterable[object], *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> list[JobHandle]:
        """`enqueue_many` for plain synchronous code."""
        return record_sync(self._runtimes, self._new_jobs(params, options), connection)

    def on_start(self, hook: Hook) -> Hook:
        """Call the function at the start of each attempt, as `hook(ctx)`."""
        return self._add("on_start", hook)

    def on_retry(self, hook: Hook) -> Hook:
        """Call the function after a failed attempt that will be repeated, as `hook(ctx, error)`."""
        return self._add("on_retry", hook)

    def on_success(self, hook: Hook) -> Hook:
        """Call the function once the job has succeeded, as `hook(ctx)`."""
        return self._add("on_success", hook)

    def on_fail(self, hook: Hook) -> Hook:
        """Call the function once the job has failed for good, as `hook(ctx, error)`."""
        return self._add("on_fail", hook)

    def on_end(self, hook: Hook) -> Hook:
        """Call the function once the job has ended, however it ended, as `hook(ctx)`."""
        return self._add("on_end", hook)

    def __repr__(self) -> str:
        return f"<job {self.key}@{self.version}>"

    def _new_jobs(self, params: Iterable[object], options: Options) -> list[NewJob]:
        documents = [EMPTY if one is None else write(one) for one in params]
        return self.spec.new_jobs(documents, namespace=self._namespace, **checked(options))

    def _add(self, name: str, hook: Hook) -> Hook:
        self._registry.add_hook((self.key, self.version), name, hook_of(hook))
        return hook
