"""`Tenure`: a database and the definitions of one program."""

import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload
from uuid import UUID

from msgspec import structs

from tenure.api.job_options import Options, checked
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.model.job import NewJob
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.reading import Position
from tenure.core.values.bounds import named
from tenure.core.values.documents import EMPTY, write
from tenure.core.values.other_words import answering_other_words, needing_a_key, taking_a_database
from tenure.engine.client.registry import Code, Registry
from tenure.execution.handler.context import is_confined
from tenure.execution.handler.handler import Handler
from tenure.execution.handler.process_hooks import ProcessHooks
from tenure.settings.settings import Settings
from tenure.settings.sources import load
from tenure.storage.contract.draft import Connection
from tenure.surfaces.library.definition import JobDefinition, JobFunction
from tenure.surfaces.library.enqueue import record, record_sync
from tenure.surfaces.library.event_feed import follow, follow_sync, interest_in, place
from tenure.surfaces.library.handle import JobHandle, id_of
from tenure.surfaces.library.runtimes import Runtimes
from tenure.surfaces.library.signature import origin_of, process_hook_of, refuse_lane, signature_of
from tenure.surfaces.library.terms import (
    DefinitionTerms,
    command_spec_of,
    refuse_transactions_on_a_file,
    spec_of,
)

if TYPE_CHECKING:
    from tenure.surfaces.library.app_metrics import AppMetrics
    from tenure.surfaces.library.decorator import JobDecorator
    from tenure.surfaces.library.records import FeedRecord

T = TypeVar("T")
ProcessHook = TypeVar("ProcessHook", bound=Callable[[], Any])
D = TypeVar("D")


@answering_other_words
class Tenure:
    """The jobs of one program, and the database that keeps them.

    The database is the argument, else TENURE_DATABASE or `database` in tenure.toml, else sqlite:///tenure.db.
    It is opened on first use. A new SQLite file is migrated then; any other database needs `tenure migrate`
    first.
    """

    settings: Settings
    """The settings in force: from the environment and tenure.toml, unless they were given."""
    namespace: str
    """The namespace of the jobs that this app enqueues."""

    @taking_a_database
    def __init__(
        self, database: str | None = None, *, namespace: str = "default", settings: Settings | None = None
    ) -> None:
        """Programs with other namespaces keep their jobs apart in the same database.

        `settings` replaces the environment and tenure.toml.
        """
        named("namespace", namespace)
        self.settings = settings or load({"database": database}).settings
        self.namespace = namespace
        self._named_database = database
        self._registry = Registry()
        self.process_hooks = ProcessHooks()
        self._runtimes = Runtimes(database or self.settings.database, self._registry, self.settings)

    def __repr__(self) -> str:
        from tenure.storage.address import shown  # loads more than a handler's process needs

        address = shown(self._named_database or self.settings.database)
        namespace = "" if self.namespace == "default" else f", namespace={self.namespace!r}"
        return f"Tenure({address!r}{namespace})"

    @needing_a_key
    def job(self, key: str, **terms: Unpack[DefinitionTerms]) -> "JobDecorator":
        """Make a function a job: `async def` or `def`, of `(params)`, `(params, ctx)`, `(ctx)` or `()`.

        `terms` are the options in `DefinitionTerms`, each with a default. The params are checked against
        their type; the result must be JSON.
        """
        spec = spec_of(key, terms, self.settings)
        if not is_confined():  # the worker looks at its own database, which may be another one
            refuse_transactions_on_a_file(spec, self._named_database)

        def decorate(function: Callable[..., Any]) -> JobFunction[Any, Any, ..., Any]:
            signature = signature_of(function)
            refuse_lane(function, spec.lane)
            code = Code(signature.adapt(function), signature.params.decode, origin_of(function), function)
            self._registry.add(structs.replace(spec, params_schema=signature.params.schema), code)
            return JobFunction(function, (key, spec.version), self.namespace, self._registry, self._runtimes)

        return cast("JobDecorator", decorate)

    @overload
    def command(
        self,
        key: str,
        arguments: Sequence[str | os.PathLike[str]],
        *,
        fatal_codes: Collection[int] = (),
        keeps_state: bool = False,
        **terms: Unpack[DefinitionTerms],
    ) -> JobFunction[dict[str, Any] | None, Any, ..., Any]: ...
    @overload
    def command(
        self,
        key: str,
        arguments: Sequence[str | os.PathLike[str]],
        *,
        params: type[D],
        fatal_codes: Collection[int] = (),
        keeps_state: bool = False,
        **terms: Unpack[DefinitionTerms],
    ) -> JobFunction[D, Any, ..., Any]: ...
    def command(
        self,
        key: str,
        arguments: Sequence[str | os.PathLike[str]],
        *,
        params: Any = dict,
        fatal_codes: Collection[int] = (),
        keeps_state: bool = False,
        **terms: Unpack[DefinitionTerms],
    ) -> JobFunction[Any, Any, ..., Any]:
        """Make a program a job: `app.command("video.probe", ["ffprobe", "-v", "quiet", …])`.

        No shell is involved. The program reads its params, of the type `params`, as JSON from standard input.
        Its result is the file that TENURE_RESULT names, if it wrote one, else the last JSON on standard
        output, else None; other output is the attempt's log. An exit code other than 0 is a failure, and one
        of `fatal_codes` is not tried again. With `keeps_state`, a later attempt finds in the file that
        TENURE_STATE names the JSON that an earlier one has left there.
        """
        # Most apps run no programs: their processes need not load this.
        from tenure.surfaces.library.command import command_of

        spec = command_spec_of(key, terms, self.settings)
        schema, code = command_of(arguments, params, fatal_codes, keeps_state=keeps_state)
        self._registry.add(structs.replace(spec, params_schema=schema), code)
        return JobFunction(code.run, (key, spec.version), self.namespace, self._registry, self._runtimes)

    async def enqueue(
        self,
        key: str,
        params: object = None,
        *,
        version: int | None = None,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[Any]:
        """Record a job by the key of its definition, which may belong to another program.

        Without `version`, the newest one of this program is meant, else the newest that a worker has
        registered. With `connection`, the job is written in its open transaction, and kept once that commits.
        """
        job = await self._new_job_of(key, params, version, options)
        [handle] = await record(self._runtimes, [job], connection)
        return handle

    def enqueue_sync(
        self,
        key: str,
        params: object = None,
        *,
        version: int | None = None,
        connection: Connection | None = None,
        **options: Unpack[Options],
    ) -> JobHandle[Any]:
        """`enqueue` for plain synchronous code."""
        job = self._block_on(self._new_job_of(key, params, version, options))
        [handle] = record_sync(self._runtimes, [job], connection)
        return handle

    def new_job(
        self, key: str, params: object = None, *, version: int | None = None, **options: Unpack[Options]
    ) -> NewJob:
        """A job of a definition of this program, for `enqueue_many` or `ctx.enqueue`. Nothing is written."""
        _refuse_function(key)
        spec = self._registry.find(key, version)
        if spec is None:
            raise UnknownDefinition(key, version, "register it with @app.job")
        document = EMPTY if params is None else write(params)
        return spec.new_job(document, namespace=self.namespace, sent_version=version, **checked(options))

    async def enqueue_many(
        self, jobs: Sequence[NewJob], *, connection: Connection | None = None
    ) -> list[JobHandle[Any]]:
        """Record jobs made by `new_job`, of any definitions, all or none, in one transaction."""
        return await record(self._runtimes, jobs, connection)

    def enqueue_many_sync(
        self, jobs: Sequence[NewJob], *, connection: Connection | None = None
    ) -> list[JobHandle[Any]]:
        """`enqueue_many` for plain synchronous code."""
        return record_sync(self._runtimes, jobs, connection)

    def handle(self, job: UUID | str) -> JobHandle[Any]:
        """A handle for a job's id. If there is no such job, its methods raise JobNotFound."""
        return JobHandle(id_of(job), self._runtimes)

    async def signal(self, job: UUID | str, name: str, payload: object = None) -> State:
        """Tell a job something that its handler waits for, or will wait for: `signal` of its handle."""
        return await self.handle(job).signal(name, payload)

    def signal_sync(self, job: UUID | str, name: str, payload: object = None) -> State:
        """`signal` for plain synchronous code."""
        return self.handle(job).signal_sync(name, payload)

    def events(
        self,
        *,
        after: Position | str | None = None,
        definition: str | None = None,
        queue: str | None = None,
        types: Collection[str] = (),
    ) -> "AsyncIterator[FeedRecord]":
        """Follow the events of the app's namespace as they happen: `async for entry in app.events()`.

        Begins now, or after a position. Each entry has its own: a reader that continues from its last one, in
        any process, misses nothing and sees nothing twice. "0" is before all events.
        """
        interest = interest_in(self.namespace, definition, queue, types)
        return follow(self._runtimes, interest, place(after))

    def events_sync(
        self,
        *,
        after: Position | str | None = None,
        definition: str | None = None,
        queue: str | None = None,
        types: Collection[str] = (),
    ) -> "Iterator[FeedRecord]":
        """`events` for plain synchronous code; blocks until the next event."""
        interest = interest_in(self.namespace, definition, queue, types)
        return follow_sync(self._runtimes, interest, place(after))

    def on_process_start(self, hook: ProcessHook) -> ProcessHook:
        """Call the function, `def` or `async def` without parameters, in each process that runs handlers.

        It runs before the first attempt there: to open what the process's handlers share.
        """
        self.process_hooks.start.append(process_hook_of("on_process_start", hook))
        return hook

    def on_process_stop(self, hook: ProcessHook) -> ProcessHook:
        """Call the function after the last attempt in each process that runs handlers, to close what is open.

        A process that is killed does not come to it.
        """
        self.process_hooks.stop.append(process_hook_of("on_process_stop", hook))
        return hook

    @property
    def metrics(self) -> "AppMetrics":
        """What a program that enqueues, such as a web server, counts of itself for its own `/metrics`.

        Ask for it before the first call that opens the database: calls are counted of one that is opened
        after that.
        """
        from tenure.surfaces.library.app_metrics import AppMetrics  # most programs count nothing

        return AppMetrics(self._runtimes.metered())

    def specs(self) -> list[Spec]:
        """Every definition of the program as data."""
        return self._registry.specs()

    def handler(self, key: str, version: int) -> Handler:
        """The handler of one definition, for the process that runs it."""
        return self._registry.handler(key, version)

    def manifest(self) -> bytes:
        """The definitions as data, for a worker."""
        return self._registry.manifest(self._named_database).write()

    async def close(self) -> None:
        """Close the database; a later call opens it again."""
        import asyncio

        await asyncio.to_thread(self._runtimes.here().close)

    def close_sync(self) -> None:
        """Close the database from plain synchronous code."""
        self._runtimes.here().close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()

    async def _new_job_of(self, key: str, params: object, version: int | None, options: Options) -> NewJob:
        _refuse_function(key)
        document = EMPTY if params is None else write(params)
        job_options = checked(options)
        spec = await self._runtimes.here().call(lambda client: client.spec(key, version))
        return spec.new_job(document, namespace=self.namespace, sent_version=version, **job_options)

    def _block_on(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runtimes.here().block_on(work)


def _refuse_function(key: object) -> None:
    if isinstance(key, JobDefinition):
        raise InvalidInput(
            "key", f"is the function of {key.key}", "call its own method, as in await welcome.enqueue(params)"
        )
