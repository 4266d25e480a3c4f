"""The routes about the progress that jobs keep."""

from tenure.api import durable_shapes, views
from tenure.surfaces.http.app.parameters import CURSOR, LIMIT
from tenure.surfaces.http.calls import progress
from tenure.surfaces.http.calls.tables.audiences import operator, reader

ROUTES = (
    reader(
        "/v1/jobs/{jobId}/steps",
        handler=progress.steps,
        summary="The steps that a job has kept",
        parameters=(LIMIT, CURSOR),
        answers={200: durable_shapes.Steps},
        problems=("not-found", "invalid-cursor"),
    ),
    operator(
        "/v1/jobs/{jobId}/signals/{signal}",
        handler=progress.signal,
        summary="Send a job a signal that it waits for, or will wait for",
        body=durable_shapes.SignalBody,
        needs_body=False,
        answers={202: views.Accepted},
        problems=("not-found", "job-terminal", "signal-differs", "progress-full"),
    ),
    operator(
        "/v1/jobs/{jobId}/effects/{effect}",
        handler=progress.answer,
        summary="Say whether an effect in doubt has happened",
        body=durable_shapes.EffectBody,
        answers={202: views.Accepted},
        problems=("not-found", "not-in-doubt"),
    ),
)
