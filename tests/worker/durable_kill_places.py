"""Where `durable_kill_app` may kill its processes."""

from typing import Literal

LANES: tuple[Literal["process", "warm", "async"], ...] = ("process", "warm", "async")
FRAMES = ("recall", "step 0", "step 1", "intended", "charged", "saved", "step 2")
"""What the handler asks, in this order."""

SIDES = ("before", "sent", "replied")
