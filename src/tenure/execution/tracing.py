"""Traces in the process of an attempt: what its handler does follows from it, and is told to the worker.

Whoever has not imported OpenTelemetry has no spans: there is nothing to do here then, unless the worker
exports spans. In that case the zygote loads OpenTelemetry's API, and spans are sent to the worker as they end
(see `recording`). A provider that the app has set up is left alone, and so is its way of exporting.
"""

import sys
from collections.abc import Mapping
from os import getpid
from typing import Any

from tenure.core.traceparent import KNOWN_FLAGS, Trace, parse

VARIABLE = "TENURE_TRACING"
"""By which a zygote knows that its worker exports spans."""

_is_awaited = False
"""Whether there is to be a provider, and none is there yet."""


_process = 0
"""The process whose attempts follow from something."""


def current() -> str | None:
    """The traceparent of what follows from the span that is current here; None where there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    find = getattr(trace, "get_current_span", None)  # which is not there while the module is being imported
    context = None if find is None else find().get_span_context()
    if context is None or not context.is_valid:
        return None
    flags = context.trace_flags & KNOWN_FLAGS
    return Trace(f"{context.trace_id:032x}", f"{context.span_id:016x}", flags).text


def load(environment: Mapping[str, str]) -> None:
    """In a zygote: have at hand what children need, if the worker exports spans."""
    global _is_awaited  # noqa: PLW0603
    if environment.get(VARIABLE, "off") != "off":
        import tenure.execution.recording  # noqa: F401

        _is_awaited = True


def provide() -> None:
    """Let spans go to the worker, if it exports them and the app has not said where else."""
    global _is_awaited  # noqa: PLW0603
    if _is_awaited:
        _is_awaited = False
        from opentelemetry import trace

        from tenure.execution.recording import Provider

        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(Provider())


def enter(traceparent: str | None) -> Any:
    """Let what is done here follow from a traceparent; answers with what `leave` takes."""
    global _process  # noqa: PLW0603
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or (followed := parse(traceparent)) is None:
        return None
    from opentelemetry import context

    provide()
    _process = getpid()
    parent = trace.SpanContext(
        int(followed.trace_id, 16),
        int(followed.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(followed.flags),
    )
    return context.attach(trace.set_span_in_context(trace.NonRecordingSpan(parent)))


def runs_here() -> bool:
    """Whether this is the attempt's own process, and not one that its handler has forked."""
    return getpid() == _process


def leave(entered: Any) -> None:
    """Let it follow from nothing again."""
    if entered is not None:
        from opentelemetry import context

        context.detach(entered)
