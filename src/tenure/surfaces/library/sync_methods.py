"""Makes the synchronous twins of asynchronous methods, so that the two need not be kept alike by hand."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class HasSyncMethods(Protocol):
    """A class whose methods have synchronous twins."""

    def _block_on(self, work: Coroutine[Any, Any, T]) -> T: ...


S = TypeVar("S", bound=HasSyncMethods)


def sync_method(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]:
    """The same method for plain synchronous code: it blocks until it has the answer."""

    def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._block_on(method(self, *args, **kwargs))

    functools.update_wrapper(twin, method)
    twin.__name__ = f"{method.__name__}_sync"
    twin.__qualname__ = f"{method.__qualname__}_sync"
    twin.__doc__ = f"{method.__doc__} Blocks; the twin of `{method.__name__}`."
    return twin
