"""Synchronous twins of asynchronous methods, made from them, so that no two need to be kept alike by hand."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Blocks(Protocol):
    """What has methods with twins."""

    def _block_on(self, work: Coroutine[Any, Any, T]) -> T: ...


S = TypeVar("S", bound=Blocks)


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]:
    """The same method for plain synchronous code: it blocks until the answer is there."""

    def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._block_on(method(self, *args, **kwargs))

    functools.update_wrapper(twin, method)
    twin.__name__ = f"{method.__name__}_sync"
    twin.__qualname__ = f"{method.__qualname__}_sync"
    twin.__doc__ = f"{method.__doc__} Blocks; the twin of `{method.__name__}`."
    return twin
