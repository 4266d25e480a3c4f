"""What handlers measure: sent to the worker as messages, and counted there alone."""

import sys
from typing import TYPE_CHECKING

from tenure.core.values.bounds import named, within
from tenure.execution.protocol.messages import MetricMessage

if TYPE_CHECKING:
    from tenure.execution.handler.channel import Channel
    from tenure.execution.handler.mux import MuxStream

CALLED = "called"
"""A call of another service: its name, operation, resource and error code; in seconds."""

UPLOADED = "uploaded"
"""Something was received: its media type; in bytes."""

IMAGE_FAILED = "image_failed"
"""An image could not be processed: the kind of error."""

COUNTED = "counted"
OBSERVED = "observed"
"""A handler's own counter or value: its name."""

LABELS = {CALLED: 4, UPLOADED: 1, IMAGE_FAILED: 1, COUNTED: 1, OBSERVED: 1}
"""How many labels each has."""

LARGEST = 1e15
"""The largest value of a measurement."""


class Metrics:
    """A handler's own metrics, which the worker exposes to Prometheus by definition and name."""

    def __init__(self, channel: "Channel | MuxStream") -> None:
        self._channel = channel

    def count(self, name: str, amount: float = 1) -> None:
        """Count something: adds to `job_custom_total`."""
        self._send(COUNTED, name, amount)

    def observe(self, name: str, value: float) -> None:
        """Record a size or a duration: a value of `job_custom_value`."""
        self._send(OBSERVED, name, value)

    def _send(self, what: str, name: str, value: float) -> None:
        named("name", name)
        within("value", value, 0, LARGEST)
        self._channel.send(MetricMessage(what, [name], float(value)))


def measure(what: str, labels: list[str], value: float) -> None:
    """Send the worker what the attempt that runs here measured; outside of attempts this does nothing."""
    if (channel := current_channel()) is not None:
        channel.send(MetricMessage(what, [_readable(label) for label in labels], value))


def current_channel() -> "Channel | MuxStream | None":
    """The channel of the attempt that runs here; None outside of attempts."""
    # Only if these modules are loaded: where attempts share a process a context variable knows which one
    # runs, a process of one attempt has one channel.
    if (stdio := sys.modules.get("tenure.execution.child.stdio")) is not None:
        stream: MuxStream | None = stdio.current_stream.get()
        if stream is not None:
            return stream
    process = sys.modules.get("tenure.execution.child.process")
    return process.active[-1] if process is not None and process.active else None


def _readable(label: str) -> str:
    return label[:200].encode(errors="replace").decode()
