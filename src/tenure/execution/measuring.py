"""What handlers measure, and how it reaches the worker, who alone counts: as messages, not numbers."""

import sys
from typing import TYPE_CHECKING

from tenure.core.bounds import named, within
from tenure.execution.protocol import Measured

if TYPE_CHECKING:
    from tenure.execution.channel import Channel
    from tenure.execution.hub import Strand

CALLED = "called"
"""A call of another service: which, what for, on which of its things, and its error code; in seconds."""

UPLOADED = "uploaded"
"""Something was received: its media type; in bytes."""

IMAGE_FAILED = "image_failed"
"""An image could not be processed: the kind of error."""

COUNTED = "counted"
OBSERVED = "observed"
"""Something of the handler's own: its name."""

LABELS = {CALLED: 4, UPLOADED: 1, IMAGE_FAILED: 1, COUNTED: 1, OBSERVED: 1}
"""How many labels each comes with."""

LARGEST = 1e15
"""The largest number that is taken for one."""


class Metrics:
    """A handler's own numbers, which the worker shows to Prometheus by definition and name."""

    def __init__(self, channel: "Channel | Strand") -> None:
        self._channel = channel

    def count(self, name: str, amount: float = 1) -> None:
        """Count something: `job_custom_total` grows by so much."""
        self._send(COUNTED, name, amount)

    def observe(self, name: str, value: float) -> None:
        """Note how large something is, or how long it took: a value of `job_custom_value`."""
        self._send(OBSERVED, name, value)

    def _send(self, what: str, name: str, value: float) -> None:
        named("name", name)
        within("value", value, 0, LARGEST)
        self._channel.send(Measured(what, [name], float(value)))


def measure(what: str, labels: list[str], value: float) -> None:
    """Tell the worker what the attempt that runs here has measured; outside of attempts nobody is told."""
    if (channel := speaker()) is not None:
        channel.send(Measured(what, [_readable(label) for label in labels], value))


def speaker() -> "Channel | Strand | None":
    """Through whom the attempt that runs here speaks; None outside of attempts."""
    # Found where they are, if they are: a process that shares itself among attempts knows who is speaking,
    # a process of one attempt has but one.
    if (telling := sys.modules.get("tenure.execution.telling")) is not None:
        strand: Strand | None = telling.speaking.get()
        if strand is not None:
            return strand
    child = sys.modules.get("tenure.execution.child")
    return child.attending[-1] if child is not None and child.attending else None


def _readable(label: str) -> str:
    return label[:200].encode(errors="replace").decode()
