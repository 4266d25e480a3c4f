"""The words of other descriptions for where a job stands; the core knows none of them."""

from typing import Literal

from tenure.core.job import Event
from tenure.core.states import STEPS, State

CLAIMED = next(step.event for step in STEPS if step.target is State.RUNNING)
"""The type of the event that a claim leaves."""

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
"""What clients of `/jobs` are told."""

VOCABULARIES: dict[str, dict[State, str | None]] = {
    "orchestrator": {
        State.CREATED: "CREATED",
        State.SCHEDULED: "QUEUED",
        State.QUEUED: "QUEUED",
        State.RUNNING: "RUNNING",
        State.CANCELLING: "RUNNING",
        State.RETRYING: "RETRY",
        State.SUSPENDED: "RUNNING",
        State.SUCCEEDED: "SUCCESS",
        State.FAILED: "DEAD",
        State.CANCELLED: None,
        State.BURIED: "DEAD",
    },
    "server": {state: state.value for state in State},
    "worker": {
        State.CREATED: "queued",
        State.SCHEDULED: "queued",
        State.QUEUED: "queued",
        State.RUNNING: "processing",
        State.CANCELLING: "processing",
        State.RETRYING: "failed_retryable",
        State.SUSPENDED: "processing",
        State.SUCCEEDED: "completed",
        State.FAILED: "failed",
        State.CANCELLED: "failed",
        State.BURIED: "failed",
    },
    "queue": {
        State.CREATED: "queued",
        State.SCHEDULED: "queued",
        State.QUEUED: "queued",
        State.RUNNING: "processing",
        State.CANCELLING: "processing",
        State.RETRYING: "queued",
        State.SUSPENDED: "processing",
        State.SUCCEEDED: "done",
        State.FAILED: "failed",
        State.CANCELLED: "failed",
        State.BURIED: "failed",
    },
    "tasks": {
        State.CREATED: "New",
        State.SCHEDULED: "Delayed",
        State.QUEUED: "Ready",
        State.RUNNING: "Reserved",
        State.CANCELLING: "Reserved",
        State.RETRYING: "Ready",
        State.SUSPENDED: "Delayed",
        State.SUCCEEDED: "Success",
        State.FAILED: "Aborted",
        State.CANCELLED: "Aborted",
        State.BURIED: "Buried",
    },
}
"""By its name, each vocabulary's word for each state; None where it has none."""


def words_of(vocabulary: str, event: Event) -> tuple[str | None, str | None]:
    """A vocabulary's words for where an event left from and where it led; a job to be was nowhere."""
    # A claim counts its attempt: before it, there was one less.
    before = event.attempt - (event.type == CLAIMED)
    source = None if event.source is None else word(vocabulary, event.source, before)
    return source, word(vocabulary, event.target, event.attempt)


def word(vocabulary: str, state: State, attempts: int) -> str | None:
    """A vocabulary's word for a job in a state after so many attempts."""
    if (vocabulary, state) == ("worker", State.QUEUED) and attempts:
        # It was claimed before, and its owner was lost or its backoff is over.
        return "failed_retryable"
    return VOCABULARIES[vocabulary][state]
