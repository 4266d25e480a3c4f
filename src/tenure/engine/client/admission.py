"""Validates new jobs by their definitions: this process's own, and those that others have registered."""

import asyncio
from collections.abc import Sequence
from time import monotonic

from msgspec import structs

from tenure.core.errors import UnknownDefinition
from tenure.core.model.job import NewJob
from tenure.core.model.override import Override
from tenure.core.model.spec import Spec, refuse_reserved
from tenure.core.reports.operations import Definition
from tenure.core.values.bounds import named
from tenure.core.values.documents import EMPTY, Document
from tenure.engine.client.concurrency_key import check_concurrency_key
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.client.schemas import check_schema
from tenure.storage.contract.store import Store

FRESH = 10.0
"""Seconds for which registered definitions and operators' overrides are cached."""

Name = tuple[str, int]
"""Key and version of a definition."""


class Admission:
    """Finds definitions, validates jobs by them, and registers or overrides definitions."""

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

        Without a version, the newest one. Raises UnknownDefinition if there is none.
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

    async def validate(self, jobs: Sequence[NewJob]) -> list[NewJob]:
        """Validate jobs; returns them with operators' overrides applied.

        Raises InvalidInput unless each job's definition is known and its params fit it.
        """
        if self._is_stale():
            async with self._reading:  # one of many callers reads for all
                if self._is_stale():
                    await self._read()
        valid = []
        known: dict[Name, tuple[Spec, Override | None]] = {}
        for job in jobs:
            name = job.definition, job.version
            if name not in known:
                # The registry checked its names when they were added.
                known[name] = self._registry.find(*name) or await self.spec(*name), self._override(name)
            spec, override = known[name]
            self._registry.check_params(spec, job.params)
            valid.append(job if override is None else override.applied(job, spec))
        return valid

    async def check_params(self, key: str, version: int, params: Document) -> None:
        """Raise InvalidParams unless the params fit the definition."""
        self._registry.check_params(await self.spec(key, version), params)

    async def register(
        self, spec: Spec, *, by: str, replace: bool = False, resizes: bool = True
    ) -> Definition:
        """Register a definition for workers elsewhere; returns what is then on record.

        Without `replace`, a version that was registered before with other content stays as it was.
        With `resizes`, existing limits take a size that is new in the definition.
        Raises InvalidInput if its schema cannot validate params.
        """
        refuse_reserved(spec.key)
        check_schema(spec.params_schema)
        check_concurrency_key(spec)
        document = spec.document()
        known = await self._on_record(spec)
        if known is None or (known.spec != document and replace):
            await save_definitions(self._store, [spec], by, replace=replace, resizes=resizes)
            self._read_at = None
            known = await self._on_record(spec)
        if known is None:
            raise UnknownDefinition(spec.key, spec.version)
        return known

    async def override(self, definition: Definition, wanted: Override) -> None:
        """Override parts of a definition for jobs accepted from now on.

        Raises InvalidInput if the override does not fit the definition. Other processes may apply it up to
        ten seconds later.
        """
        override = EMPTY  # removes every override, even one set by a later version
        if wanted != Override():
            wanted.check(Spec.read(definition.spec))
            override = wanted.document(definition.override)
        changed = structs.replace(definition, override=override)
        for newer in await self._store.put_definitions([changed]):
            # A worker has registered it again since it was read here: that stays.
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
