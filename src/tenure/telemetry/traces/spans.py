"""The protocol of an exporter of spans; without an exporter no spans are made."""

from collections.abc import Callable
from typing import Any, Protocol

from tenure.core.values.span import Kind, Span
from tenure.core.values.traceparent import KNOWN_FLAGS, SAMPLED, Trace

Make = Callable[[], Span | bytes]
"""Makes an ended span, in the thread that sends it: ours are encoded as OTLP, handlers' are values."""


class Spans(Protocol):
    """An exporter of spans, as in `tenure.telemetry.traces.otlp`."""

    def samples(self, trace_id: str, parent: Trace | None, kind: Kind) -> bool:
        """Whether to record a span of this trace with this parent."""

    def export(self, make: Make, size: int = 0) -> None:
        """Take a span; it is made and sent when there are enough of them, or after a while.

        `size` is how many bytes it holds while it waits, if these may be many.
        """


class Redacting(Protocol):
    """Removes secrets, by their names and by patterns in a text."""

    def value(self, name: str, value: Any) -> Any:
        """A value as it may be shown under its name."""

    def text(self, text: str) -> str:
        """A text as it may be shown."""


def follow(spans: Spans, parent: Trace | None, trace_id: str, span_id: str, kind: Kind) -> Trace:
    """The context of a new span with this parent, or with none, and with the decision to sample it."""
    flags = 0 if parent is None else parent.flags & KNOWN_FLAGS & ~SAMPLED
    return Trace(trace_id, span_id, flags | (SAMPLED if spans.samples(trace_id, parent, kind) else 0))
