"""A job's place in a caller's trace, as W3C's `traceparent`; and the ids of attempts' spans.

A traceparent comes from outside and is no reason to refuse a job: one that cannot be read counts as none.
"""

import re
import sys
from typing import NamedTuple
from uuid import UUID

SAMPLED = 0x01
KNOWN_FLAGS = 0x03
"""Sampled, and "trace id is random"; other flags that a caller sets must not be passed on."""

_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_FORBIDDEN = "ff"
_FIRST = "00"


class Trace(NamedTuple):
    """One span in one trace."""

    trace_id: str
    span_id: str
    flags: int

    @property
    def is_sampled(self) -> bool:
        """Whether it is recorded."""
        return bool(self.flags & SAMPLED)

    @property
    def text(self) -> str:
        """The traceparent of its children."""
        return f"{_FIRST}-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def current() -> str | None:
    """The traceparent of children of the current span; None if there is none."""
    trace = sys.modules.get("opentelemetry.trace")
    find = getattr(trace, "get_current_span", None)  # missing while the module is being imported
    context = None if find is None else find().get_span_context()
    if context is None or not context.is_valid:
        return None
    flags = context.trace_flags & KNOWN_FLAGS
    return Trace(f"{context.trace_id:032x}", f"{context.span_id:016x}", flags).text


def parse(text: str | None) -> Trace | None:
    """Parse a traceparent; None for what is none. Of later versions, the fields of the first one."""
    if text is None or (found := _FORM.fullmatch(text)) is None:
        return None
    version, trace, span, flags, more = found.groups()
    is_malformed = version == _FORBIDDEN or (version == _FIRST and more is not None)
    if is_malformed or not trace.strip("0") or not span.strip("0"):
        return None
    return Trace(trace, span, int(flags, 16) & KNOWN_FLAGS)


def kept(text: str | None) -> str | None:
    """A traceparent as it is kept with a job; None for what is none."""
    return None if text is None or (trace := parse(text)) is None else trace.text


def trace_id(text: str | None) -> str | None:
    """The trace id of a traceparent, if it is one."""
    return None if text is None or (trace := parse(text)) is None else trace.trace_id


def trace_of(job: UUID, text: str | None) -> str:
    """The trace of a job's attempts: its caller's, or one that all of them share."""
    return trace_id(text) or job.hex


def span_of(job: UUID, fence: int) -> str:
    """The id of an attempt's span.

    Computed from what identifies the attempt, and stored nowhere: any worker on any machine gets the same id.
    """
    import hashlib  # too much to load in a process that is forked for every attempt

    return hashlib.blake2b(job.bytes + fence.to_bytes(8), digest_size=8).hexdigest()
