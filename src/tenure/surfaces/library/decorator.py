"""How `@app.job` keeps the types of a function, for type checkers; nothing here is imported at run time.

The first form that fits counts. One with a context alone comes first, or its context would be taken for
params; `async def` comes before `def`, whose result would be the coroutine.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from tenure.execution.handler.context import Context
from tenure.surfaces.library.definition import JobFunction

D = TypeVar("D")
R = TypeVar("R")
P = ParamSpec("P")
Freely = dict[str, Any] | None
"""The params of a handler that takes the context alone: it may find them in `ctx.params`."""


class JobDecorator(Protocol):
    """Makes a function a definition whose methods have the function's types."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # the first that fits counts, as is meant
        self, function: Callable[[Context], Coroutine[Any, Any, R]], /
    ) -> JobFunction[Freely, R, [Context], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[[Context], R], /) -> JobFunction[Freely, R, [Context], R]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[D, P], Coroutine[Any, Any, R]], /
    ) -> JobFunction[D, R, Concatenate[D, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[D, P], R], /
    ) -> JobFunction[D, R, Concatenate[D, P], R]: ...
    @overload
    def __call__(
        self, function: Callable[[], Coroutine[Any, Any, R]], /
    ) -> JobFunction[None, R, [], Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[[], R], /) -> JobFunction[None, R, [], R]: ...
