"""The words of a job server, those of `/v1`: the core's own, of which the description has six."""

from tenure.api.dialects.dialect import CoreStep, Detour, Dialect, Foreign, moves, recorded, stopped
from tenure.core.model.states import State

SERVER = Dialect(
    name="server",
    words={state: state.value for state in State},
    moves=moves(
        (None, "queued"),
        ("queued", "running"),
        ("running", "succeeded"),
        ("running", "failed"),
        ("queued", "cancelled"),
        ("running", "cancelling"),
        ("cancelling", "cancelled"),
        ("running", "orphaned"),
        ("orphaned", "queued"),
    ),
    detours=(
        Detour(
            steps=(CoreStep(State.RUNNING, "orphaned", State.QUEUED),),
            through=("orphaned",),
            why="a lost worker's job is found and queued again in one statement",
        ),
    ),
    foreign=(
        Foreign(
            steps=(
                CoreStep(None, "created", State.CREATED),
                CoreStep(State.CREATED, "accepted", State.QUEUED),
                CoreStep(State.CREATED, "accepted", State.SCHEDULED),
                *stopped(State.CREATED),
            ),
            why="the description has no jobs that are held",
        ),
        Foreign(
            steps=(
                *recorded(State.SCHEDULED),
                CoreStep(State.SCHEDULED, "queued", State.QUEUED),
                *stopped(State.SCHEDULED),
            ),
            why="there a job with a time ahead is `queued` with a `scheduledAt`; here the wait has a word",
        ),
        Foreign(
            steps=(
                CoreStep(State.RUNNING, "retrying", State.RETRYING),
                CoreStep(State.RETRYING, "queued", State.QUEUED),
                CoreStep(State.RETRYING, "failed", State.FAILED),
                *stopped(State.RETRYING),
            ),
            why="there a job to be retried is `queued` with a `scheduledAt`; here the wait has a word",
        ),
        Foreign(
            steps=(
                CoreStep(State.RUNNING, "suspended", State.SUSPENDED),
                CoreStep(State.SUSPENDED, "resumed", State.QUEUED),
                *stopped(State.SUSPENDED),
            ),
            why="the description has no handlers that give their slot back and wait",
        ),
        Foreign(
            steps=(CoreStep(State.RUNNING, "handed_back", State.QUEUED),),
            why="there only a lost lease leads back to `queued`; here a worker that stops gives jobs back",
        ),
        Foreign(
            steps=(CoreStep(State.RUNNING, "buried", State.BURIED),),
            why="the description has no jobs that must not run twice",
        ),
        Foreign(
            steps=(
                CoreStep(State.CANCELLING, "succeeded", State.SUCCEEDED),
                CoreStep(State.CANCELLING, "failed", State.FAILED),
            ),
            why="a handler that ended before it noticed the request keeps its outcome",
        ),
    ),
    fields={
        "id": "jobId",
        "definition": "definitionKey",
        "version": "definitionVersion",
        "state": "status",
        "key": "idempotencyKey",
        "run_at": "runAt",
        "delay": "delaySeconds",
        "max_attempts": "maxAttempts",
        "timeout": "timeoutSeconds",
        "concurrency_keys": "concurrencyKeys",
    },
)
