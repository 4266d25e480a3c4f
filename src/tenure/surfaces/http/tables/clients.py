"""The routes for clients, who say what is to be done and ask what became of it."""

from tenure.surfaces.http import intent, shapes, tasks
from tenure.surfaces.http.tables.audiences import client

ROUTES = (
    client(
        "POST",
        "/jobs",
        handler=intent.submit,
        summary="Say what is to be done",
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
        is_fenced=True,
    ),
    client(
        "GET",
        "/jobs/{jobId}",
        handler=intent.status,
        summary="What has become of it",
        answers={200: shapes.Intent},
        problems=("not-found",),
    ),
    client(
        "POST",
        "/tasks",
        handler=tasks.create,
        summary="Record a task, to be done now or later",
        body=tasks.NewTask,
        answers={202: tasks.TaskAccepted},
        fields=tasks.FIELDS,
        problems=("unknown-definition", "invalid-params", "datetime", "quota"),
        is_routine=True,
        is_fenced=True,
    ),
    client(
        "GET",
        "/tasks/{jobId}",
        handler=tasks.status,
        summary="Where a task stands",
        answers={200: tasks.Task},
        problems=("not-found",),
    ),
    client(
        "POST",
        "/tasks/{jobId}/abort",
        handler=tasks.abort,
        summary="Let a task that waits never be done",
        answers={202: tasks.TaskAccepted},
        problems=("not-found", "job-state"),
    ),
)
