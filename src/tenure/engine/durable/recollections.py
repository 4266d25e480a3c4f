"""What a job has kept, as its handler is told: within one frame, whatever the lengths of its parts."""

from tenure.core.model.durable import KeptStep, Recollection
from tenure.execution.protocol.durable import Recalled, RecalledStep

MOST_BYTES = 7 << 19
"""The most bytes of it, with room left in a frame for what surrounds them."""

_BESIDE_A_NAME = 64
"""More than the kind, status, fence and call of a step take."""


def recalled(found: Recollection) -> Recalled:
    """The answer to `Recall`: results and payloads that do not fit are left to be asked for."""
    room = MOST_BYTES - len((found.checkpoint or "").encode())
    room -= sum(len(step.name.encode()) + _BESIDE_A_NAME for step in found.steps)
    room -= sum(len(name.encode()) for name in (*found.waits_over, *found.long_signals, *found.signals))
    signals = {
        name: str(body) for name, body in found.signals.items() if (room := room - len(body.encode())) >= 0
    }
    steps = []
    for step in found.steps:
        room -= len((step.body or "").encode())
        steps.append(recalled_step(step, with_body=room >= 0))
    return Recalled(
        steps,
        found.checkpoint,
        found.waits_over,
        signals,
        found.long_signals | (found.signals.keys() - signals.keys()),
    )


def recalled_step(step: KeptStep, *, with_body: bool = True) -> RecalledStep:
    """A step as a handler is told of it."""
    body = step.body if with_body else None
    return RecalledStep(step.name, step.kind, step.status, step.fence, step.call, step.size, body)
