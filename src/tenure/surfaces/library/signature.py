"""What a handler takes: params, a context, both or neither, known by annotation first and by name second."""

import inspect
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from tenure.core.errors import InvalidInput
from tenure.core.model.lanes import LANES
from tenure.execution.handler.context import Context
from tenure.surfaces.library.params import NO_PARAMS, Params, params_of

CONTEXT_NAMES = frozenset({"ctx", "context"})

_FORMS = "write (params), (params, ctx), (ctx) or ()"
_PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Signature(NamedTuple):
    """What a handler takes; params come first."""

    params: Params
    takes_params: bool
    takes_context: bool

    def adapt(self, function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        """Wrap the function, so that it is called with params and context."""
        match self.takes_params, self.takes_context:
            case True, True:
                return function
            case True, False:
                return lambda params, _ctx: function(params)
            case False, True:
                return lambda _params, ctx: function(ctx)
            case _:
                return lambda _params, _ctx: function()


def signature_of(function: Callable[..., Any]) -> Signature:
    """Read a handler's parameters. Raises InvalidInput, naming the function, if it cannot be a handler."""
    where = origin_of(function)
    if not inspect.isfunction(function):
        raise InvalidInput(where, "is not a function", "decorate a def or an async def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(where, "yields", "return the result instead")
    _load_loop_for(function)
    parameters = list(inspect.signature(function).parameters.values())
    if any(parameter.kind not in _PLAIN for parameter in parameters):
        raise InvalidInput(where, "takes *, ** or keyword-only parameters", _FORMS)
    hints = _hints(function, where, [parameter.name for parameter in parameters])
    roles = ["ctx" if _is_context(parameter.name, hints) else "params" for parameter in parameters]
    if roles not in ([], ["params"], ["ctx"], ["params", "ctx"]):
        names = ", ".join(parameter.name for parameter in parameters)
        remedy = f"{_FORMS}; annotate the context with tenure.Context"
        raise InvalidInput(where, f"takes ({names}), which no handler may", remedy)
    try:
        return Signature(_params(parameters, roles, hints), "params" in roles, "ctx" in roles)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error.field}", error.problem, error.remedy) from None


def refuse_lane(function: Callable[..., Any], lane: str) -> None:
    """Refuse a function that cannot run in a lane."""
    is_async, takes = inspect.iscoroutinefunction(function), LANES[lane].takes
    if takes == "async def" and not is_async:
        problem = f"is a plain def in lane {lane}, where it would hold up every other attempt"
        raise InvalidInput(origin_of(function), problem, 'write async def, or use lane "thread"')
    if takes == "plain def" and is_async:
        raise InvalidInput(origin_of(function), f"is an async def in lane {lane}", 'use lane "async"')


def hook_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, if it can be called as `hook(ctx)` or `hook(ctx, error)`."""
    where = origin_of(function)
    if not inspect.isfunction(function):
        raise InvalidInput(where, "is not a function", "decorate a def or an async def")
    parameters = inspect.signature(function).parameters.values()
    if len(parameters) not in {1, 2} or any(parameter.kind not in _PLAIN for parameter in parameters):
        raise InvalidInput(where, "cannot be a hook", "write (ctx) or (ctx, error)")
    _load_loop_for(function)
    return function


def process_hook_of(what: str, function: Callable[[], Any]) -> Callable[[], Any]:
    """The function, if it can be called without arguments as a hook of a process."""
    if not callable(function):
        raise InvalidInput(what, f"is given {function!r:.64}", f"decorate a def or an async def: @app.{what}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(origin_of(function), "yields", "close in @app.on_process_stop what it opens")
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise InvalidInput(
            origin_of(function), f"takes parameters, and {what} has none", "write ()"
        ) from None
    _load_loop_for(function)
    return function


def origin_of(function: Any) -> str:
    """Where a function is written, for messages."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', '?')}.{name}"


def _load_loop_for(function: Callable[..., Any]) -> None:
    """Load what a coroutine needs once, at registration, instead of in the process of each attempt."""
    if inspect.iscoroutinefunction(function):
        import asyncio  # noqa: F401


def _hints(function: Callable[..., Any], where: str, names: list[str]) -> dict[str, Any]:
    # Only those of parameters: the return type may be importable for type checkers alone.
    def stub() -> None: ...

    annotations = function.__annotations__
    stub.__annotations__ = {name: annotations[name] for name in names if name in annotations}
    try:
        written = inspect.unwrap(function)
        return typing.get_type_hints(stub, getattr(written, "__globals__", {}), include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        remedy = "import the types of its parameters at run time, not only for type checkers"
        raise InvalidInput(where, f"has annotations that cannot be resolved: {error}", remedy) from None


def _is_context(name: str, hints: dict[str, Any]) -> bool:
    if name not in hints:
        return name in CONTEXT_NAMES
    hint = hints[name]
    return isinstance(hint, type) and issubclass(hint, Context)


def _params(parameters: list[inspect.Parameter], roles: list[str], hints: dict[str, Any]) -> Params:
    if not roles:
        return NO_PARAMS
    if roles == ["ctx"]:
        return params_of(dict)  # it can see them in ctx.params
    hint = hints.get(parameters[0].name, dict)
    return params_of(dict[str, Any] if hint is Any else hint)
