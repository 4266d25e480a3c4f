"""Exports spans, where the settings ask for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from tenure.api.redaction import Redaction
from tenure.core.errors import InvalidInput
from tenure.core.values.extras import installation
from tenure.settings.settings import Settings
from tenure.telemetry.traces.spans import Spans


@asynccontextmanager
async def exported(
    settings: Settings,
    on_trouble: Callable[[str], None],
    on_call: Callable[[str, str, float, str], None] | None = None,
) -> AsyncIterator[Spans | None]:
    """Takes spans while the context lasts; None unless the settings want them.

    `on_trouble` is called when spans do not arrive, `on_call` after each call of the collector.
    Raises InvalidInput where a package for it is not installed, or its variables make no sense.
    """
    if settings.tracing == "off":
        yield None
        return
    try:
        from tenure.telemetry.traces.otlp import open_exporter
    except ModuleNotFoundError as error:
        problem = f"is {settings.tracing}, and {error.name} is not installed"
        raise InvalidInput("tracing", problem, installation("otel")) from None
    soon = partial(_soon, asyncio.get_running_loop())
    on_call_soon = None if on_call is None else partial(soon, on_call)
    try:
        spans = open_exporter(partial(soon, on_trouble), Redaction(settings.redact), on_call_soon)
    except ValueError as error:
        problem = f"cannot be set up: {str(error).rstrip('.')}"
        raise InvalidInput("tracing", problem, "look at the variables OTEL_…") from None
    try:
        yield spans
    finally:
        await asyncio.to_thread(spans.close)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: object) -> None:
    """Call something on the loop, from another thread, unless the loop has ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *given)
