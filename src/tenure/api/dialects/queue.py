"""The words of a queue: four of them, and whatever waits is queued."""

from tenure.api.dialects.dialect import CoreStep, Dialect, Foreign, moves, stopped
from tenure.core.model.states import State

QUEUE = Dialect(
    name="queue",
    words={
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
    moves=moves(
        (None, "queued"),
        ("queued", "processing"),
        ("processing", "done"),
        ("processing", "failed"),
        ("processing", "queued"),
    ),
    foreign=(
        Foreign(
            steps=stopped(State.CREATED, State.SCHEDULED, State.QUEUED, State.RETRYING),
            why="the description has no cancelling; a job that was stopped will never be done",
        ),
        Foreign(
            steps=(CoreStep(State.RETRYING, "failed", State.FAILED),),
            why="an operator gave it up between two attempts; there only an attempt leads to `failed`",
        ),
    ),
    fields={
        "definition": "type",
        "params": "payload",
        "state": "status",
        "attempt": "attempts",
        "key": "Idempotency_key",
    },
)
