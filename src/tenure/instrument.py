"""Measures what handlers do outside Tenure: calls to other services, uploads, images.

    with instrument.external("s3", "put", bucket="photos"):
        await s3.put_object(...)

    @instrument.external("mailer", "send")
    async def send(...): ...

The worker exposes what its handlers, and the functions they call, measure to Prometheus. Outside of a handler
these calls do nothing.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from time import perf_counter
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from tenure.execution.handler import metrics

__all__ = ["external", "image_error", "upload"]

P = ParamSpec("P")
T = TypeVar("T")


def external(service: str, operation: str, *, bucket: str = "") -> "Call":
    """Measure a call to another service, as a context manager or a decorator; `bucket` is for `s3`."""
    return Call(service, operation, bucket)


def upload(mime_type: str, size: int) -> None:
    """Count an upload of `size` bytes."""
    metrics.measure(metrics.UPLOADED, [mime_type], max(0.0, float(size)))


def image_error(error: BaseException | str) -> None:
    """Count an image that could not be processed; an exception is counted by its type."""
    kind = error if isinstance(error, str) else type(error).__name__
    metrics.measure(metrics.IMAGE_FAILED, [kind], 1.0)


Measure = Callable[[str, list[str], float], None]
"""Takes a measurement: what was measured, its labels, its value."""


class Call:
    """Measures how long a call took, and the code of its error."""

    def __init__(self, service: str, operation: str, bucket: str, measure: Measure = metrics.measure) -> None:
        self._labels = (service, operation, bucket)
        self._measure = measure
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        code = "" if error is None else error_code(error)
        self._measure(metrics.CALLED, [*self._labels, code], perf_counter() - self._began)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function with each call measured; for an async one, until it returns."""
        from inspect import iscoroutinefunction

        if iscoroutinefunction(function):
            return self._awaited(function)  # type: ignore[return-value]

        @wraps(function)
        def measured(*args: P.args, **kwargs: P.kwargs) -> T:
            with Call(*self._labels, self._measure):
                return function(*args, **kwargs)

        return measured

    def _awaited(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
        @wraps(function)
        async def measured(*args: P.args, **kwargs: P.kwargs) -> T:
            with Call(*self._labels, self._measure):
                return await function(*args, **kwargs)

        return measured


def error_code(error: BaseException) -> str:
    """The code of the other service's response, as AWS and HTTP clients give it; else the error's type."""
    response: Any = getattr(error, "response", None)
    try:
        code = response["Error"]["Code"] if isinstance(response, dict) else response.status_code
    except (AttributeError, KeyError, TypeError):
        code = type(error).__name__
    return str(code)
