"""The statuses that clients of `/jobs` see: what became of their request, without the details."""

from typing import Literal

from tenure.core.model.states import State

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
