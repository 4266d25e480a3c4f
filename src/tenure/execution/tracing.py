"""Traces in the process of an attempt: what its handler does follows from it, and is told to the worker.

Only an app that has imported OpenTelemetry's API makes spans. For others there is nothing to do here: to load
it for them would cost each of their attempts a tenth of its time, in pages that a fork has to copy. Where the
worker exports spans, those of handlers are sent to it as they end (see `recording`). A provider that the app
has set up is left alone, and so is its way of exporting.
"""

import sys
from collections.abc import Mapping
from os import getpid
from typing import Any

from tenure.core.traceparent import KNOWN_FLAGS, Trace

VARIABLE = "TENURE_TRACING"
"""By which a zygote knows that its worker exports spans."""

_is_wanted = False
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


def want(environment: Mapping[str, str]) -> None:
    """Learn, in a zygote, whether the worker exports spans."""
    global _is_wanted  # noqa: PLW0603
    _is_wanted = environment.get(VARIABLE, "off") != "off"


def provide() -> None:
    """Let spans go to the worker, if it wants them, and if the app makes any and has not said where else."""
    global _is_wanted  # noqa: PLW0603
    trace = sys.modules.get("opentelemetry.trace")
    if _is_wanted and trace is not None:
        _is_wanted = False
        from tenure.execution.recording import Provider

        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(Provider())


def enter(traceparent: str) -> Any:
    """Let what is done here follow from a traceparent; answers with what `leave` takes."""
    global _process  # noqa: PLW0603
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    # By hand: whatever is touched here is copied in each child, and to search a pattern touches a lot.
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
    """Let it follow from nothing again."""
    if entered is not None:
        sys.modules["opentelemetry.context"].detach(entered)
