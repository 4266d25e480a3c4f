"""The definitions by which new jobs are judged: this process's own, and what others have put on record."""

import asyncio
from collections.abc import Sequence
from time import monotonic

from msgspec import structs

from tenure.core.bounds import named
from tenure.core.documents import EMPTY, Document
from tenure.core.errors import UnknownDefinition
from tenure.core.job import NewJob
from tenure.core.operations import Definition
from tenure.core.override import Override
from tenure.core.spec import Spec, refuse_reserved
from tenure.engine.pointing import check_concurrency_key
from tenure.engine.registering import register
from tenure.engine.registry import Registry
from tenure.engine.schemas import check_schema
from tenure.storage.contract import Store

FRESH = 10.0
"""Seconds for which what others have registered, and operators have set, is taken from memory."""

Name = tuple[str, int]
"""Key and version of a definition."""


class Judge:
    """Finds definitions, holds jobs against them, and changes what is on record of them."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._others: dict[Name, Document] = {}
        self._overrides: dict[Name, Document] = {}
        self._specs: dict[Document, Spec] = {}
        self._reading = asyncio.Lock()
        self._read_at: float | None = None

    async def spec(self, key: str, version: int | None = None) -> Spec:
        """A definition of this process, or else one that a worker has registered.

        Without a version the newest one. Raises UnknownDefinition when there is none.
        """
        named("definition", key)
        refuse_reserved(key)
        if spec := self._registry.find(key, version):
            return spec
        if not (spec := self._find(key, version)) or self._is_stale():
            await self._read()
            spec = self._find(key, version)
        if spec is None:
            raise UnknownDefinition(key, version)
        return spec

    async def judge(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """The jobs, changed by what operators have set for their definitions.

        Raises InvalidInput unless each job's definition is known and its params fit it.
        """
        if self._is_stale():
            async with self._reading:  # one of many callers reads for all
                if self._is_stale():
                    await self._read()
        judged = []
        known: dict[Name, tuple[Spec, Override | None]] = {}
        for job in jobs:
            name = job.definition, job.version
            if name not in known:
                # What the registry has was named and unreserved when it was put there.
                known[name] = self._registry.find(*name) or await self.spec(*name), self._override(name)
            spec, override = known[name]
            self._registry.check_params(spec, job.params)
            judged.append(job if override is None else override.applied(job, spec))
        return judged

    async def check_params(self, key: str, version: int, params: Document) -> None:
        """Raise InvalidParams unless the params fit the definition."""
        self._registry.check_params(await self.spec(key, version), params)

    async def register(
        self, spec: Spec, *, by: str, replace: bool = False, resizes: bool = True
    ) -> Definition:
        """Put a definition on record for workers elsewhere; answers with what then stands there.

        That is something else when the version was registered before with other content, unless `replace`.
        Limits that are there take a size that is new in it, unless not `resizes`.
        Raises InvalidInput when params cannot be judged by its schema.
        """
        refuse_reserved(spec.key)
        check_schema(spec.params_schema)
        check_concurrency_key(spec)
        document = spec.document()
        known = await self._on_record(spec)
        if known is None or (known.spec != document and replace):
            await register(self._store, [spec], by, replace=replace, resizes=resizes)
            self._read_at = None
            known = await self._on_record(spec)
        if known is None:
            raise UnknownDefinition(spec.key, spec.version)
        return known

    async def override(self, definition: Definition, wanted: Override) -> None:
        """Set what is to hold instead of what a definition's code says, for jobs accepted from now on.

        Raises InvalidInput when its jobs cannot be so. Whoever has read the definitions before may take up
        to ten seconds to know of it.
        """
        override = EMPTY  # which takes back whatever was set, be it by a later version
        if wanted != Override():
            wanted.check(Spec.read(definition.spec))
            override = wanted.document(definition.override)
        asked = structs.replace(definition, override=override)
        for newer in await self._store.put_definitions([asked]):
            # A worker has registered it anew since it was read here: that stands.
            await self._store.put_definitions([structs.replace(newer, override=override)])

    async def _on_record(self, spec: Spec) -> Definition | None:
        named = (known for known in await self._store.definitions() if known.key == spec.key)
        return next((known for known in named if known.version == spec.version), None)

    def _find(self, key: str, version: int | None) -> Spec | None:
        versions = [known for name, known in self._others if name == key]
        wanted = max(versions, default=0) if version is None else version
        document = self._others.get((key, wanted))
        if document is None:
            return None
        if document not in self._specs:
            self._specs[document] = Spec.read(document)
        return self._specs[document]

    def _override(self, name: Name) -> Override | None:
        document = self._overrides.get(name)
        return None if document is None else Override.read(document)

    def _is_stale(self) -> bool:
        return self._read_at is None or monotonic() - self._read_at > FRESH

    async def _read(self) -> None:
        registered = await self._store.definitions()
        self._others = {(known.key, known.version): known.spec for known in registered}
        self._specs = {text: spec for text, spec in self._specs.items() if text in self._others.values()}
        self._overrides = {
            (known.key, known.version): known.override for known in registered if known.override is not None
        }
        self._read_at = monotonic()
