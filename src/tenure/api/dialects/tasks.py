"""The words of the task API, `/tasks`: a task is ready or delayed, then reserved, and ends in three ways."""

from tenure.api.dialects.dialect import CoreStep, Detour, Dialect, Foreign, moves, recorded, stopped
from tenure.core.model.states import State

TASKS = Dialect(
    name="tasks",
    words={
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
    moves=moves(
        (None, "New"),
        ("New", "Ready"),
        ("New", "Delayed"),
        ("Delayed", "Watching"),
        ("Watching", "Delayed"),
        ("Watching", "Ready"),
        ("Ready", "Reserved"),
        ("Reserved", "Ready"),
        ("Reserved", "Success"),
        ("Reserved", "Aborted"),
        ("Reserved", "Buried"),
        ("Ready", "Aborted"),
        ("Delayed", "Aborted"),
    ),
    detours=(
        Detour(
            steps=recorded(State.SCHEDULED, State.QUEUED),
            through=("New",),
            why="recording and accepting are one statement, so that nothing can come between them",
        ),
        Detour(
            steps=(
                CoreStep(State.SCHEDULED, "queued", State.QUEUED),
                CoreStep(State.SUSPENDED, "resumed", State.QUEUED),
            ),
            through=("Watching",),
            why="a task whose time has come is locked and made ready in one statement; it never rests here",
        ),
    ),
    foreign=(
        Foreign(
            steps=stopped(State.CREATED),
            why="there only a ready or delayed task is aborted; here a held one can be, too",
        ),
        Foreign(
            steps=(CoreStep(State.RUNNING, "suspended", State.SUSPENDED),),
            why="the description has no handlers that give their slot back and wait",
        ),
    ),
    fields={
        "id": "taskId",
        "definition": "type",
        "params": "payload",
        "run_at": "runAt",
        "delay": "delaySeconds",
        "max_attempts": "maxRetries",
        "timeout": "timeoutSeconds",
        "failures": "retryCount",
        "started_at": "reservedAt",
    },
)
