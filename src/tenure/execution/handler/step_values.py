"""What a durable step is known by, and its result: as JSON on record, and as the type of its function."""

import inspect
import typing
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import msgspec

from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.model.durable import LARGEST_STEP
from tenure.core.model.step_errors import StepChanged
from tenure.core.values.documents import Document, canonical_hash, read, write

_AS_THEY_ARE = (Any, object, None, type(None))


def check_call(method: str, name: object, function: object) -> None:
    """Refuse what is no name and function, with how such a call is written."""
    if callable(name):
        shown = getattr(name, "__name__", type(name).__name__)
        raise InvalidInput("name", f"is {shown}()", f'it comes first: ctx.{method}("{shown}", {shown}, …)')
    if callable(function):
        return
    remedy = f'give the function itself, and its arguments behind it: ctx.{method}("fetch", fetch, url)'
    if inspect.iscoroutine(function):
        function.close()  # nobody will await it
        raise InvalidInput("function", f"is {function.__name__}(…), which was called already", remedy)
    raise InvalidInput("function", f"is {function!r:.64}", remedy)


def call_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """A hash of the function's name and its arguments; an argument that is no JSON counts by its type."""
    while isinstance(function, partial):
        arguments = (*function.args, *arguments)
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return canonical_hash(write([name, *map(_shown, arguments)])).hex()


def kept_result(value: Any) -> Document:
    """A result as it is kept; raises `InvalidJson` if it is no JSON, or too long."""
    return write(value, limit=LARGEST_STEP)


def result_of(step: str, function: Callable[..., Any], body: str) -> Any:
    """A result on record, as the type that the function says it returns; else as plain values."""
    value = read(body, limit=LARGEST_STEP)
    kind = _return_type(inspect.unwrap(function.func if isinstance(function, partial) else function))
    if value is None or kind in _AS_THEY_ARE:  # an operator may have said that it happened, and no more
        return value
    try:
        if hasattr(kind, "model_validate"):  # a model of pydantic
            return kind.model_validate(value)
        return msgspec.convert(value, kind, str_keys=True, dec_hook=_give_up)
    except (TypeError, NotImplementedError):  # a type that msgspec does not know
        return value
    except ValueError as misfit:  # of either library
        raise StepChanged(step, f"has a result that is no {kind}: {misfit!s:.500}") from None


def refuse_awaitable(step: str, result: Any) -> None:
    """Refuse what an async function returns where nothing can await it."""
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()
        remedy = "call it by the method without _sync"
        raise InvalidInput("function", f"of the step {step!r} is async", remedy)


@lru_cache(maxsize=1024)
def _return_type(function: Callable[..., Any]) -> Any:
    hint = getattr(function, "__annotations__", {}).get("return", Any)
    if not isinstance(hint, str):
        return hint
    try:
        return typing.get_type_hints(function).get("return", Any)
    except (NameError, AttributeError, TypeError):  # a name that is imported for type checkers alone
        return Any


def _give_up(_kind: type, _value: Any) -> Any:
    raise NotImplementedError


def _shown(argument: Any) -> Any:
    try:
        write(argument)
    except InvalidJson:
        return f"{type(argument).__module__}.{type(argument).__qualname__}"
    return argument
