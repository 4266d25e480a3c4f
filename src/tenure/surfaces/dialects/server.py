"""The words of a job server, those of `/v1`: the core's own, of which the description has six."""

from tenure.core.states import State
from tenure.surfaces.dialects.dialect import Detour, Dialect, Foreign, Taken, moves, recorded, stopped

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
            steps=(Taken(State.RUNNING, "orphaned", State.QUEUED),),
            through=("orphaned",),
            why="a lost worker's job is found and queued again in one statement",
        ),
    ),
    foreign=(
        Foreign(
            steps=(
                Taken(None, "created", State.CREATED),
                Taken(State.CREATED, "accepted", State.QUEUED),
                Taken(State.CREATED, "accepted", State.SCHEDULED),
                *stopped(State.CREATED),
            ),
            why="the description has no jobs that are held",
        ),
        Foreign(
            steps=(
                *recorded(State.SCHEDULED),
                Taken(State.SCHEDULED, "queued", State.QUEUED),
                *stopped(State.SCHEDULED),
            ),
            why="there a job with a time ahead is `queued` with a `scheduledAt`; here the wait has a word",
        ),
        Foreign(
            steps=(
                Taken(State.RUNNING, "retrying", State.RETRYING),
                Taken(State.RETRYING, "queued", State.QUEUED),
                Taken(State.RETRYING, "failed", State.FAILED),
                *stopped(State.RETRYING),
            ),
            why="there a job to be retried is `queued` with a `scheduledAt`; here the wait has a word",
        ),
        Foreign(
            steps=(
                Taken(State.RUNNING, "suspended", State.SUSPENDED),
                Taken(State.SUSPENDED, "resumed", State.QUEUED),
                *stopped(State.SUSPENDED),
            ),
            why="the description has no handlers that give their slot back and wait",
        ),
        Foreign(
            steps=(Taken(State.RUNNING, "handed_back", State.QUEUED),),
            why="there only a lost lease leads back into line; here a worker that stops gives jobs back",
        ),
        Foreign(
            steps=(Taken(State.RUNNING, "buried", State.BURIED),),
            why="the description has no jobs that must not run twice",
        ),
        Foreign(
            steps=(
                Taken(State.CANCELLING, "succeeded", State.SUCCEEDED),
                Taken(State.CANCELLING, "failed", State.FAILED),
            ),
            why="a handler that ended before it noticed the request has done what it has done",
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
