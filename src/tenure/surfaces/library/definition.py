"""A definition that code registered: its methods enqueue jobs. A decorated function can also be called."""

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, overload
from uuid import UUID

from tenure.api.job_options import Options, checked, several_params
from tenure.core.model.job import NewJob
from tenure.core.model.spec import Spec, like
from tenure.core.values.documents import EMPTY, Document, write
from tenure.core.values.other_words import answering_other_words
from tenure.engine.client.registry import Registry
from tenure.execution.handler.context import is_confined
from tenure.storage.contract.draft import Connection
from tenure.surfaces.library.enqueue import record, record_one, record_sync
from tenure.surfaces.library.handle import JobHandle, id_of
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.signature import hook_of

if TYPE_CHECKING:
    from tenure.surfaces.library.schedule_terms import ScheduleTerms

D_contra = TypeVar("D_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")
Hook = TypeVar("Hook", bound=Callable[..., Any])


@answering_other_words
class JobDefinition(Generic[D_contra, R_co]):
    """What runs as a job with params of type D and a result of type R, made by `@app.job` or `app.command`.

    D is None for a handler without params, and `dict[str, Any] | None` for one that takes the context alone.
    A decorated function can still be called, as `await welcome(Welcome("ada"), ctx)`: for tests.
    """

    key: str
    """The name by which callers know it, such as `email.welcome`."""
    version: int
    """Its version."""

    def __init__(
        self,
        function: Callable[..., Any],
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

    @property
    def spec(self) -> Spec:
        """The definition as data."""
        return self._registry.get(self.key, self.version)

    @overload
    def new_job(
        self: "JobDefinition[None, Any]", params: None = None, **options: Unpack[Options]
    ) -> NewJob: ...
    @overload
    def new_job(self, params: D_contra, **options: Unpack[Options]) -> NewJob: ...
    def new_job(self, params: Any = None, *more: object, **options: Unpack[Options]) -> NewJob:
        """A job as it would be enqueued, for `app.enqueue_many`. Nothing is written."""
        if more:
            raise several_params(1 + len(more), self.spec.params_schema)
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

    @overload
    async def enqueue(
        self: "JobDefinition[None, T]",
        params: None = None,
        *,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[T]: ...
    @overload
    async def enqueue(
        self, params: D_contra, *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> JobHandle[R_co]: ...
    async def enqueue(
        self,
        params: Any = None,
        *more: object,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[Any]:
        """Record a job. When this returns, the job is kept, whatever happens.

        With `connection`, the job is written in its open transaction, and kept once that commits.
        """
        job = self.new_job(params, *more, **options)
        return await record_one(self._runtimes, job, connection, returned_by=self.function)

    async def enqueue_many(
        self, params: Iterable[D_contra], *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> list[JobHandle[R_co]]:
        """Record many jobs with the same options, all or none, in one transaction; at most 10,000."""
        jobs = self._new_jobs(params, options)
        return await record(self._runtimes, jobs, connection, returned_by=self.function)

    @overload
    def enqueue_sync(
        self: "JobDefinition[None, T]",
        params: None = None,
        *,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[T]: ...
    @overload
    def enqueue_sync(
        self, params: D_contra, *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> JobHandle[R_co]: ...
    def enqueue_sync(
        self,
        params: Any = None,
        *more: object,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[Any]:
        """`enqueue` for plain synchronous code."""
        jobs = [self.new_job(params, *more, **options)]
        [handle] = record_sync(self._runtimes, jobs, connection, returned_by=self.function)
        return handle

    def enqueue_many_sync(
        self, params: Iterable[D_contra], *, connection: Connection | None = None, **options: Unpack[Options]
    ) -> list[JobHandle[R_co]]:
        """`enqueue_many` for plain synchronous code."""
        jobs = self._new_jobs(params, options)
        return record_sync(self._runtimes, jobs, connection, returned_by=self.function)

    def handle(self, job: UUID | str) -> JobHandle[R_co]:
        """A handle for the id of a job of this definition: `app.handle` with the type of its result."""
        return JobHandle(id_of(job), self._runtimes, self.function)

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

    def schedule(self, name: str, params: D_contra | None = None, **terms: "Unpack[ScheduleTerms]") -> None:
        """Let workers of the app make a job of this definition again and again: by `cron=` or `every=`.

        Workers announce it when they start. Operators can pause it and run it by hand; it is changed here.
        """
        from tenure.surfaces.library.schedule_terms import declared

        document = EMPTY if params is None else write(params)
        encoded = declared(name, self.key, self._namespace, document, terms)
        if not is_confined():
            self._registry.check_params(self.spec, document)
        self._registry.add_schedule(name, encoded)

    def __repr__(self) -> str:
        return f"<job {self.key}@{self.version}>"

    def _new_jobs(self, params: Iterable[D_contra], options: Options) -> list[NewJob]:
        documents = [self._document(one) for one in params]
        return self.spec.new_jobs(documents, namespace=self._namespace, **checked(options))

    def _document(self, params: D_contra, /) -> Document:
        return EMPTY if params is None else write(params)

    def _add(self, name: str, hook: Hook) -> Hook:
        self._registry.add_hook((self.key, self.version), name, hook_of(hook))
        return hook


class JobFunction(JobDefinition[D_contra, R_co], Generic[D_contra, R_co, P, T]):
    """A decorated function: a definition that can be called like the function itself."""

    def __init__(self, function: Callable[P, T], *given: Any) -> None:
        super().__init__(function, *given)
        self.function: Callable[P, T] = function
        self.__wrapped__ = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function itself, as if it were not decorated: for tests."""
        return self.function(*args, **kwargs)
