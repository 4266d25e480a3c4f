"""What a child runs: handlers of the user's app, which is named as `module:attribute`."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct

from tenure.core.errors import TenureError
from tenure.core.model.retry import describe
from tenure.core.values.failure import Failure

_OURS = frozenset({"__main__", "tenure", "importlib", "_frozen_importlib"})
"""Packages whose frames stand above the app's in a traceback of its import."""


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
    if not module or not attribute:
        raise TenureError(f"{target!r} does not name an app; write it as module:attribute")
    found: Any = importlib.import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    for name in ("handler", "manifest"):
        if not callable(getattr(found, name, None)):
            raise TenureError(f"{target} is no app but of type {type(found).__name__}")
    app: App = found
    return app


def import_failure(error: BaseException) -> Failure:
    """Why the import of an app failed; the traceback begins at the app's own code."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        trace = trace.tb_next
    failure = describe(error.with_traceback(trace)).error
    if trace is None and not isinstance(error, SyntaxError):  # which names the line itself
        return Failure(failure.kind, failure.message)
    return failure
