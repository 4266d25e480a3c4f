"""The words of a worker: a job is queued or processed; one that was claimed before may be retried."""

from tenure.api.dialects.dialect import CoreStep, Dialect, Foreign, moves, stopped
from tenure.core.model.states import State

WORKER = Dialect(
    name="worker",
    words={
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
    # Nothing leads back to `queued`: a job that was claimed and is in line again waits for its retry.
    claimed_words={State.QUEUED: "failed_retryable"},
    moves=moves(
        (None, "queued"),
        ("queued", "processing"),
        ("processing", "completed"),
        ("processing", "failed_retryable"),
        ("processing", "failed"),
        ("failed_retryable", "processing"),
        ("failed_retryable", "failed"),
    ),
    set_by_api=frozenset({"queued"}),
    foreign=(
        Foreign(
            steps=stopped(State.CREATED, State.SCHEDULED, State.QUEUED, State.SUSPENDED, State.RETRYING),
            why="a job that no worker owns is stopped by the request itself. The description leaves every "
            "end to a worker and forbids `queued` to `failed`, but has no other word for an end without "
            "success",
        ),
        Foreign(
            steps=(CoreStep(State.SUSPENDED, "resumed", State.QUEUED),),
            why="a job that waits for a signal, or for an answer, is in line again by that request. The "
            "description lets the API lead to nothing but `queued`, for jobs that were never claimed",
        ),
    ),
    fields={"id": "job_id", "started_at": "locked_at"},
)
