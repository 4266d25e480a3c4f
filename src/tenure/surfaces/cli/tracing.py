"""Whether a command exports spans, and where to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from tenure.core.errors import InvalidInput
from tenure.settings import Settings
from tenure.surfaces.redaction import Redaction
from tenure.telemetry.spans import Spans


@asynccontextmanager
async def exported(
    settings: Settings,
    tell: Callable[[str], None],
    called: Callable[[str, str, float, str], None] | None = None,
) -> AsyncIterator[Spans | None]:
    """Where spans go while the context lasts; None unless the settings want them.

    `tell` hears when they do not get there, `called` of each call of who takes them.
    Raises InvalidInput where what is needed for that is not installed, or its variables make no sense.
    """
    if settings.tracing == "off":
        yield None
        return
    try:
        from tenure.telemetry.otlp import exporting
    except ModuleNotFoundError as error:
        problem = f"is {settings.tracing}, and {error.name} is not installed"
        raise InvalidInput("tracing", problem, "install tenure[otel]") from None
    soon = partial(_soon, asyncio.get_running_loop())
    heard = None if called is None else partial(soon, called)
    try:
        spans = exporting(partial(soon, tell), Redaction(settings.redact), heard)
    except ValueError as error:
        problem = f"cannot be set up: {str(error).rstrip('.')}"
        raise InvalidInput("tracing", problem, "look at the variables OTEL_…") from None
    try:
        yield spans
    finally:
        await asyncio.to_thread(spans.close)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: object) -> None:
    """Have something called on the loop, from another thread; unless that has ended meanwhile."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *given)
