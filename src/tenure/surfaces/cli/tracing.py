"""Whether a command exports spans, and where to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tenure.core.errors import InvalidInput
from tenure.settings import Settings
from tenure.surfaces.redaction import Redaction
from tenure.telemetry.spans import Spans


@asynccontextmanager
async def exported(settings: Settings, tell: Callable[[str], None]) -> AsyncIterator[Spans | None]:
    """Where spans go while the context lasts; None unless the settings want them.

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
    loop = asyncio.get_running_loop()
    try:
        spans = exporting(lambda text: loop.call_soon_threadsafe(tell, text), Redaction(settings.redact))
    except ValueError as error:
        problem = f"cannot be set up: {str(error).rstrip('.')}"
        raise InvalidInput("tracing", problem, "look at the variables OTEL_…") from None
    try:
        yield spans
    finally:
        await asyncio.to_thread(spans.close)
