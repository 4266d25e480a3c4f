"""The words of an orchestrator: a job is created, queued, running, and then a success, retried or dead."""

from tenure.api.dialects.dialect import CoreStep, Detour, Dialect, Foreign, moves, recorded, stopped
from tenure.core.model.states import State

ORCHESTRATOR = Dialect(
    name="orchestrator",
    words={
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
    moves=moves(
        (None, "CREATED"),
        ("CREATED", "QUEUED"),
        ("QUEUED", "RUNNING"),
        ("RUNNING", "SUCCESS"),
        ("RUNNING", "RETRY"),
        ("RETRY", "QUEUED"),
        ("RETRY", "DEAD"),
    ),
    detours=(
        Detour(
            steps=recorded(State.SCHEDULED, State.QUEUED),
            through=("CREATED",),
            why="recording and accepting are one statement, so that nothing can come between them",
        ),
        Detour(
            steps=(
                CoreStep(State.RUNNING, "failed", State.FAILED),
                CoreStep(State.CANCELLING, "failed", State.FAILED),
                CoreStep(State.RUNNING, "buried", State.BURIED),
            ),
            through=("RETRY",),
            why="an end for good, fatal errors included, comes after the decision whether to try again",
        ),
        Detour(
            steps=(
                CoreStep(State.RUNNING, "orphaned", State.QUEUED),
                CoreStep(State.RUNNING, "handed_back", State.QUEUED),
                CoreStep(State.SUSPENDED, "resumed", State.QUEUED),
            ),
            through=("RETRY",),
            why="it is queued again for another run, without a backoff",
        ),
    ),
    foreign=(
        Foreign(
            steps=stopped(
                *(State.CREATED, State.SCHEDULED, State.QUEUED),
                *(State.CANCELLING, State.SUSPENDED, State.RETRYING),
            ),
            why="the description has no word for a job that was stopped on request, and neither SUCCESS nor "
            "DEAD would be true",
        ),
    ),
    fields={"id": "jobId", "definition": "jobType", "params": "payload", "key": "idempotencyKey"},
)
