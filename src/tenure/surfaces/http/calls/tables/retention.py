"""The routes about how long finished jobs are kept."""

from typing import Any

from tenure.api import retention_shapes
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls import retention
from tenure.surfaces.http.calls.tables.audiences import reader


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
    _setter(
        "DELETE",
        "/v1/retention/{key}",
        handler=retention.delete,
        summary="Keep finished jobs of one definition as long as those of all",
        problems=("not-found",),
    ),
)
