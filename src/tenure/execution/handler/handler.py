"""What a child runs: handlers of the user's app, which is named as `module:attribute`."""

import importlib
import os
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Protocol

from msgspec import Struct

from tenure.core.errors import TenureError
from tenure.core.model.retry import describe
from tenure.core.values.failure import Failure

_OURS = frozenset({"__main__", "tenure", "importlib", "_frozen_importlib"})
"""Packages whose frames stand above the app's in a traceback of its import."""

_OF_AN_APP = ("handler", "manifest")


class Handler(Struct, frozen=True):
    """One version of a definition as code.

    `run(params, ctx)` is a plain function or returns an awaitable; `decode` makes the params from JSON text.
    A hook takes the context, and the error where it asks for a second argument. `is_program`: it starts a
    program, and runs no code of the app.
    """

    run: Callable[..., Any]
    decode: Callable[[str], Any]
    hooks: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    is_program: bool = False


class App(Protocol):
    """What `module:attribute` must name; it may also have `process_hooks`."""

    def handler(self, key: str, version: int) -> Handler:
        """The code of one definition."""

    def manifest(self) -> bytes:
        """The definitions as data, for the worker; opaque here."""


class AppFailed(TenureError):
    """The user's app cannot be loaded; the message names the target and what went wrong."""

    def __init__(self, target: str, error: Failure) -> None:
        kind = "" if error.kind == TenureError.__name__ else f"{error.kind}: "
        super().__init__(f"{target or 'the app'} cannot be loaded: {kind}{error.message}")
        self.target = target
        self.error = error


def load(target: str) -> App:
    """Import the module and find the app in it; raises whatever the module raises."""
    module, _, attribute = target.partition(":")
    if module.endswith(".py") or "/" in module:
        rewritten = f"{_as_module(module)}:{attribute or 'app'}"
        raise TenureError(f"{target!r} names a file; write its module: {rewritten}")
    if not module or not attribute:
        example = f"{module or 'jobs'}:{attribute or 'app'}"
        raise TenureError(f"{target!r} does not name an app; write it as module:attribute, such as {example}")
    imported = _imported(module)
    found: Any = imported
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise TenureError(f"{module} has no {attribute}{_apps_in(imported)}")
        found = getattr(found, name)
    if not all(callable(getattr(found, name, None)) for name in _OF_AN_APP):
        raise TenureError(f"{target} is no app but of type {type(found).__name__}{_apps_in(imported)}")
    app: App = found
    return app


def _imported(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # one that the app itself imports
        where = f"neither in {os.getcwd()} nor among the installed ones"  # noqa: PTH109
        raise ModuleNotFoundError(f"there is no module {error.name}, {where}", name=error.name) from None


def _as_module(path: str) -> str:
    return ".".join(part for part in path.removesuffix(".py").split("/") if part not in {"", "."})


def _apps_in(module: ModuleType) -> str:
    # By class: to look into the objects of a module might have effects.
    kinds = {name: type(value) for name, value in vars(module).items() if not name.startswith("_")}
    names = [name for name, kind in kinds.items() if all(hasattr(kind, part) for part in _OF_AN_APP)]
    return f"; write {' or '.join(f'{module.__name__}:{name}' for name in names[:5])}" if names else ""


def import_failure(error: BaseException) -> Failure:
    """Why the import of an app failed; the traceback begins at the app's own code."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        trace = trace.tb_next
    failure = describe(error.with_traceback(trace)).error
    if trace is None and not isinstance(error, SyntaxError):  # which names the line itself
        return Failure(failure.kind, failure.message)
    return failure
