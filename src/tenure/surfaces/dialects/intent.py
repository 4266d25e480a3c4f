"""What clients of `/jobs` are told: what has become of a wish, and nothing of how."""

from typing import Literal

from tenure.core.states import State

IntentStatus = Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]

INTENT: dict[State, IntentStatus] = {
    State.CREATED: "PENDING",
    State.SCHEDULED: "PENDING",
    State.QUEUED: "PENDING",
    State.RUNNING: "RUNNING",
    State.CANCELLING: "RUNNING",
    State.RETRYING: "PENDING",
    State.SUSPENDED: "RUNNING",
    State.SUCCEEDED: "COMPLETED",
    State.FAILED: "FAILED",
    State.CANCELLED: "CANCELLED",
    State.BURIED: "FAILED",
}
