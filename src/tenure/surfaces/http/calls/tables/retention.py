"""The routes about how long finished jobs are kept."""

from typing import Any

from tenure.api import retention_shapes
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls import retention
from tenure.surfaces.http.calls.tables.audiences import operator, reader


def _setter(method: str, path: str, **rest: Any) -> Route:
    return Route(
        method=method,
        path=path,
        audience="operator",
        scope="operate",
        answers={200: retention_shapes.RetentionItem},
        **rest,
    )


ROUTES = (
    reader(
        "/v1/retention",
        handler=retention.retention,
        summary="How long finished jobs are kept",
        answers={200: retention_shapes.RetentionView},
    ),
    _setter(
        "PUT",
        "/v1/retention",
        handler=retention.put_for_all,
        target=retention.target,
        summary="Set how long finished jobs of all definitions are kept",
        body=retention_shapes.RetentionForAllBody,
        fields=retention_shapes.FIELDS,
    ),
    _setter(
        "PUT",
        "/v1/retention/{key}",
        handler=retention.put,
        target=retention.target,
        summary="Set how long finished jobs of one definition are kept",
        body=retention_shapes.RetentionBody,
        fields=retention_shapes.FIELDS,
        problems=("not-found",),
    ),
    operator(
        "/v1/retention-dry-run",
        handler=retention.dry_run,
        target=retention.trial,
        summary="Count what would go if finished jobs were kept for other times; nothing is changed",
        body=retention_shapes.RetentionTrialBody,
        fields=retention_shapes.FIELDS,
        answers={200: retention_shapes.RemovedItem},
        problems=("not-found",),
        seconds=60.0,
    ),
    _setter(
        "DELETE",
        "/v1/retention/{key}",
        handler=retention.delete,
        summary="Keep finished jobs of one definition as long as those of all",
        problems=("not-found",),
    ),
)
