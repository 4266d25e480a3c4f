"""The routes for clients, which submit work and ask what became of it."""

from tenure.api import shapes, task_shapes
from tenure.surfaces.http.calls import intent, tasks
from tenure.surfaces.http.calls.tables.audiences import client

ROUTES = (
    client(
        "POST",
        "/jobs",
        handler=intent.submit,
        summary="Submit a job",
        body=shapes.NewIntent,
        answers={202: shapes.IntentAccepted},
        fields=intent.FIELDS,
        problems=(
            "unknown-definition",
            "invalid-params",
            "idempotency-key",
            "idempotency-key-reused",
            "quota",
        ),
        is_routine=True,
        is_namespaced=True,
    ),
    client(
        "GET",
        "/jobs/{jobId}",
        handler=intent.status,
        summary="What became of a job",
        answers={200: shapes.Intent},
        problems=("not-found",),
    ),
    client(
        "POST",
        "/tasks",
        handler=tasks.create,
        summary="Record a task, to run now, later, or again and again",
        body=task_shapes.NewTask,
        answers={202: task_shapes.TaskAccepted},
        fields=tasks.FIELDS,
        problems=(
            *("unknown-definition", "invalid-params", "datetime", "quota"),
            # A text may have the form of a rule and be none: an expression, a zone, a time that has passed.
            *("idempotency-key", "idempotency-key-reused", "validation"),
        ),
        is_routine=True,
        is_namespaced=True,
    ),
    client(
        "GET",
        "/tasks/{jobId}",
        handler=tasks.status,
        summary="The state of a task",
        answers={200: task_shapes.Task},
        problems=("not-found",),
        is_namespaced=True,
    ),
    client(
        "POST",
        "/tasks/{jobId}/abort",
        handler=tasks.abort,
        summary="Abort a task that waits",
        answers={202: task_shapes.TaskAccepted},
        problems=("not-found", "job-state"),
        is_namespaced=True,
    ),
)
