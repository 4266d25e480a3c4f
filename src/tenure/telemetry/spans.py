"""Where spans go that have ended; without an exporter nobody asks for them."""

from collections.abc import Callable
from typing import Any, Protocol

from tenure.core.span import Kind, Span
from tenure.core.traceparent import KNOWN_FLAGS, SAMPLED, Trace

Make = Callable[[], Span | bytes]
"""Makes a span that has ended, in the thread that sends it: ours are in OTLP's form, handlers' are plain."""


class Spans(Protocol):
    """What takes spans: as `tenure.telemetry.otlp` does."""

    def samples(self, trace_id: str, parent: Trace | None, kind: Kind) -> bool:
        """Whether a span of this trace, which follows from this one, is to be recorded."""

    def export(self, make: Make, size: int = 0) -> None:
        """Take a span; it is made and sent when there are enough of them, or after a while.

        `size` is how many bytes wait with it, where these are not always few.
        """


class Redacting(Protocol):
    """What leaves out secrets, by the names that they have and by what a text says."""

    def value(self, name: str, value: Any) -> Any:
        """A value as it may be shown under its name."""

    def text(self, text: str) -> str:
        """A text as it may be shown."""


def follow(spans: Spans, parent: Trace | None, trace_id: str, span_id: str, kind: Kind) -> Trace:
    """A span that follows from another one, or from none, and whether it is to be recorded."""
    flags = 0 if parent is None else parent.flags & KNOWN_FLAGS & ~SAMPLED
    return Trace(trace_id, span_id, flags | (SAMPLED if spans.samples(trace_id, parent, kind) else 0))
