"""Where a job stands in somebody's trace, in the words of W3C's `traceparent`; and the spans of attempts.

A traceparent comes from outside and is worth no refusal: one that cannot be read counts as none.
"""

import re
from typing import NamedTuple
from uuid import UUID

SAMPLED = 0x01
KNOWN_FLAGS = 0x03
"""Sampled, and that the trace's id was made at random; what else a caller sets nobody may pass on."""

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
        """Whether somebody records it."""
        return bool(self.flags & SAMPLED)

    @property
    def text(self) -> str:
        """The traceparent of what follows from it."""
        return f"{_FIRST}-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def parse(text: str | None) -> Trace | None:
    """What a traceparent says; None for what is none. Of later versions, what the first one knows."""
    if text is None or (found := _FORM.fullmatch(text)) is None:
        return None
    version, trace, span, flags, more = found.groups()
    is_of_no_version = version == _FORBIDDEN or (version == _FIRST and more is not None)
    if is_of_no_version or not trace.strip("0") or not span.strip("0"):
        return None
    return Trace(trace, span, int(flags, 16) & KNOWN_FLAGS)


def kept(text: str | None) -> str | None:
    """A traceparent as it is kept with a job; None for what is none."""
    return None if text is None or (trace := parse(text)) is None else trace.text


def trace_id(text: str | None) -> str | None:
    """The id of the trace that a traceparent belongs to, if it is one."""
    return None if text is None or (trace := parse(text)) is None else trace.trace_id


def trace_of(job: UUID, text: str | None) -> str:
    """The trace in which a job's attempts are: its caller's, or one that all of them share."""
    return trace_id(text) or job.hex


def span_of(job: UUID, fence: int) -> str:
    """The id of an attempt's span.

    Made from what names the attempt, and kept nowhere: whoever runs the next attempt, on whatever machine,
    knows it without having been told.
    """
    import hashlib  # which is more than a process should load that is copied for every attempt

    return hashlib.blake2b(job.bytes + fence.to_bytes(8), digest_size=8).hexdigest()
