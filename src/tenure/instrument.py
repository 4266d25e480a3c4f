"""Measures what handlers do elsewhere: calls of other services, uploads, images.

    with instrument.external("s3", "put", bucket="photos"):
        await s3.put_object(...)

    @instrument.external("mailer", "send")
    async def send(...): ...

What is measured in a handler, or in what it calls, its worker shows to Prometheus. Elsewhere it is measured
by nobody, and does no harm.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from time import perf_counter
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from tenure.execution import measuring

__all__ = ["external", "image_error", "upload"]

P = ParamSpec("P")
T = TypeVar("T")


def external(service: str, operation: str, *, bucket: str = "") -> "Call":
    """A call of another service, as a context manager or a decorator; `bucket` is for `s3`."""
    return Call(service, operation, bucket)


def upload(mime_type: str, size: int) -> None:
    """Something of so many bytes was received."""
    measuring.measure(measuring.UPLOADED, [mime_type], max(0.0, float(size)))


def image_error(error: BaseException | str) -> None:
    """An image could not be processed; an exception is counted by its type."""
    kind = error if isinstance(error, str) else type(error).__name__
    measuring.measure(measuring.IMAGE_FAILED, [kind], 1.0)


class Call:
    """How long it took, and by which code it failed."""

    def __init__(self, service: str, operation: str, bucket: str) -> None:
        self._labels = (service, operation, bucket)
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        code = "" if error is None else error_code(error)
        measuring.measure(measuring.CALLED, [*self._labels, code], perf_counter() - self._began)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with each of its calls measured; an async one until it has returned."""
        from inspect import iscoroutinefunction

        if iscoroutinefunction(function):
            return self._awaited(function)  # type: ignore[return-value]

        @wraps(function)
        def measured(*args: P.args, **kwargs: P.kwargs) -> T:
            with Call(*self._labels):
                return function(*args, **kwargs)

        return measured

    def _awaited(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        @wraps(function)
        async def measured(*args: P.args, **kwargs: P.kwargs) -> T:
            with Call(*self._labels):
                return await function(*args, **kwargs)

        return measured


def error_code(error: BaseException) -> str:
    """The code that the other side gave, as AWS and HTTP do; else the exception's type."""
    response: Any = getattr(error, "response", None)
    try:
        code = response["Error"]["Code"] if isinstance(response, dict) else response.status_code
    except (AttributeError, KeyError, TypeError):
        code = type(error).__name__
    return str(code)
