"""The definitions that a process knows: their specs, their schemas, and the code of its own ones."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, structs

from tenure.core.errors import Fatal, InvalidInput, InvalidParams, ParamsProblem, UnknownDefinition
from tenure.core.model.spec import HOOKS, Spec, refuse_reserved
from tenure.core.values.documents import Document
from tenure.core.values.misfits import Misfit
from tenure.engine.client.concurrency_key import check_concurrency_key
from tenure.engine.client.params import ParamsCheck
from tenure.execution.handler.context import is_confined
from tenure.execution.handler.handler import Handler

Name = tuple[str, int]
"""Key and version of a definition."""


class Manifest(Struct, frozen=True):
    """What a worker needs to know of its app: the database, if the code names one, the specs, its schedules.

    Schedules are encoded: a child that runs handlers need not load what they are made of.
    """

    database: str | None
    specs: tuple[Document, ...]
    schedules: tuple[bytes, ...] = ()

    def write(self) -> bytes:
        """Encode it, to be sent by the process that imported the app."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def read(cls, written: bytes) -> "Manifest":
        """Decode a manifest that was sent."""
        return msgspec.msgpack.decode(written, type=cls)

    def registry(self) -> "Registry":
        """Its definitions, without their code."""
        registry = Registry()
        for document in self.specs:
            registry.add(Spec.read(document))
        return registry


@dataclass(frozen=True)
class Code:
    """The functions of a definition.

    They are `run(params, ctx)`; `decode`, which reads params from JSON text or raises Misfit; and the
    `function` as it was written, if it is one.
    """

    run: Callable[..., Any]
    decode: Callable[[str], Any]
    origin: str
    function: Callable[..., Any] | None = None
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict)
    is_program: bool = False


class Registry:
    """Definitions by key and version."""

    def __init__(self) -> None:
        self._specs: dict[Name, Spec] = {}
        self._code: dict[Name, Code] = {}
        self._handlers: dict[Name, Handler] = {}
        self._checks: dict[Document, ParamsCheck] = {}
        self._schedules: dict[str, bytes] = {}

    def add(self, spec: Spec, code: Code | None = None) -> None:
        """Register a definition; a key and version belong to one function."""
        name = spec.key, spec.version
        refuse_reserved(spec.key)
        if name in self._specs:
            raise InvalidInput(
                "key",
                f"{spec.key}@{spec.version} is registered twice, by {self._origin(name)}"
                f" and by {code.origin if code else 'a manifest'}",
                "give one of them another key or version",
            )
        if not is_confined():  # the worker that gets the manifest checks these; no child loads the validator
            self._check(spec.params_schema)
            check_concurrency_key(spec)
        self._specs[name] = spec
        if code:
            self._code[name] = code
            decode = partial(_decode_or_fail, code.decode, name)
            self._handlers[name] = Handler(code.run, decode, code.hooks, code.is_program)

    def add_hook(self, name: Name, hook: str, function: Callable[..., Any]) -> None:
        """Add a hook to a definition; one of each kind."""
        code = self._code[name]
        if hook in code.hooks:
            raise InvalidInput(hook, f"is set twice for {name[0]}@{name[1]}", "call both from one function")
        code.hooks[hook] = function
        names = tuple(known for known in HOOKS if known in code.hooks)
        self._specs[name] = structs.replace(self._specs[name], hooks=names)

    def add_schedule(self, name: str, schedule: bytes) -> None:
        """Add a schedule that code declares, encoded; a name belongs to one of them."""
        if name in self._schedules:
            raise InvalidInput("schedule", f"{name} is declared twice", "give one of them another name")
        self._schedules[name] = schedule

    def find(self, key: str, version: int | None = None) -> Spec | None:
        """The definition of a key and version, or of the key's newest version."""
        if version is not None:
            return self._specs.get((key, version))
        versions = [known for name, known in self._specs if name == key]
        return self._specs[key, max(versions)] if versions else None

    def get(self, key: str, version: int) -> Spec:
        """The definition of a key and version. Raises UnknownDefinition."""
        if (key, version) not in self._specs:
            raise UnknownDefinition(key, version)
        return self._specs[key, version]

    def specs(self) -> list[Spec]:
        """Every definition, by key and version."""
        return [self._specs[name] for name in sorted(self._specs)]

    def handler(self, key: str, version: int) -> Handler:
        """The code of a definition. Raises UnknownDefinition if this process has none."""
        handler = self._handlers.get((key, version))
        if handler is None:
            raise UnknownDefinition(key, version, "import the module that registers it")
        return handler

    def function(self, key: str, version: int) -> Callable[..., Any] | None:
        """The function of a definition as it was written; None if this process has none."""
        code = self._code.get((key, version))
        return None if code is None else code.function

    def check_params(self, spec: Spec, params: Document) -> None:
        """Raise InvalidParams, with a pointer to each problem, unless the params fit the definition."""
        check = self._checks.get(spec.params_schema) or self._check(spec.params_schema)
        problems = check.problems(params)
        if not problems and (code := self._code.get((spec.key, spec.version))):
            # A type may require more than a schema can express: report it now, not in the attempt.
            problems = _decode_problems(code.decode, params)
        if problems:
            raise InvalidParams(f"{spec.key}@{spec.version}", problems)

    def manifest(self, database: str | None) -> Manifest:
        """The definitions and schedules as data."""
        return Manifest(
            database, tuple(spec.document() for spec in self.specs()), tuple(self._schedules.values())
        )

    def _check(self, schema: Document) -> ParamsCheck:
        if schema not in self._checks:
            self._checks[schema] = ParamsCheck(schema)
        return self._checks[schema]

    def _origin(self, name: Name) -> str:
        return self._code[name].origin if name in self._code else "a manifest"


def _decode_or_fail(decode: Callable[[str], Any], name: Name, text: str) -> Any:
    try:
        return decode(text)
    except Misfit as misfit:
        # No later attempt could read them either.
        message = f"the params of {name[0]}@{name[1]} cannot be read: {misfit.shown('params')}"
        raise Fatal(message) from misfit


def _decode_problems(decode: Callable[[str], Any], params: Document) -> list[ParamsProblem]:
    try:
        decode(params)
    except Misfit as misfit:
        return misfit.problems
    return []
