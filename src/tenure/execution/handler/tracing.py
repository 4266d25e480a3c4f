"""Traces in the process of an attempt: the handler's spans become children of the attempt's span.

Only an app that has imported OpenTelemetry's API makes spans. For others nothing is done here: to load the
API would cost each of their attempts a tenth of its time, in pages that a fork has to copy. Where the worker
exports spans, those of handlers are sent to it as they end (see `otel_spans`). A provider that the app has
set up is left alone, and so is its way of exporting.
"""

import sys
from collections.abc import Mapping
from os import getpid
from typing import Any

VARIABLE = "TENURE_TRACING"
"""Tells a zygote that its worker exports spans."""

_is_wanted = False
"""Whether a provider is wanted and not yet set."""

_process = 0
"""The process in which an attempt last entered a trace."""


def want(environment: Mapping[str, str]) -> None:
    """Learn, in a zygote, whether the worker exports spans."""
    global _is_wanted  # noqa: PLW0603
    _is_wanted = environment.get(VARIABLE, "off") != "off"


def provide() -> None:
    """Send spans to the worker, if it wants them, and if the app makes any and has set no provider."""
    global _is_wanted  # noqa: PLW0603
    trace = sys.modules.get("opentelemetry.trace")
    if _is_wanted and trace is not None:
        _is_wanted = False
        from tenure.execution.handler.otel_spans import SpanProvider

        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(SpanProvider(runs_here))


def enter(traceparent: str) -> Any:
    """Make a traceparent the parent of spans made here; returns what `leave` takes."""
    global _process  # noqa: PLW0603
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    # By hand: what is touched here is copied in each child, and a regular expression touches a lot.
    try:
        ids = int(traceparent[3:35], 16), int(traceparent[36:52], 16)
        flags = trace.TraceFlags(int(traceparent[53:55], 16))
    except ValueError:
        return None
    if _is_wanted:
        provide()
    _process = getpid()
    parent = trace.NonRecordingSpan(trace.SpanContext(*ids, True, flags))
    return sys.modules["opentelemetry.context"].attach(trace.set_span_in_context(parent))


def runs_here() -> bool:
    """Whether this is the attempt's own process, and not one that its handler has forked."""
    return getpid() == _process


def leave(entered: Any) -> None:
    """Undo `enter`."""
    sys.modules["opentelemetry.context"].detach(entered)
