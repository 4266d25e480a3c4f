"""The routes of the process itself: health, metrics, and the description of the routes."""

from typing import Any

from tenure.api import shapes
from tenure.surfaces.http.calls import metrics, process
from tenure.surfaces.http.calls.tables.audiences import of_process, reader
from tenure.telemetry.metrics.exposition import MEDIA_TYPE

HEALTH = (
    of_process(
        "/healthz",
        handler=process.alive,
        summary="Whether the process is alive",
        answers={200: shapes.Health},
        reads_store=False,
        any_host=True,
    ),
    of_process(
        "/readyz",
        handler=process.ready,
        summary="Whether the store answers, with a schema that fits this version",
        answers={200: shapes.Health},
        any_host=True,
    ),
)
"""What a supervisor of processes asks; a worker's own port answers it too."""

ROUTES = (
    *HEALTH,
    reader(
        "/metrics",
        handler=metrics.api,
        summary="The metrics of this process, for Prometheus",
        answers={200: str},
        reads_store=False,
        produces=MEDIA_TYPE,
    ),
    reader(
        "/metrics/worker",
        handler=metrics.worker,
        summary="The metrics of the worker in this process",
        answers={200: str},
        problems=("not-found",),
        reads_store=False,
        produces=MEDIA_TYPE,
    ),
    of_process(
        "/openapi.json",
        handler=process.openapi,
        summary="This API as OpenAPI 3.1",
        answers={200: dict[str, Any]},
        reads_store=False,
    ),
    of_process(
        "/docs",
        handler=process.docs,
        summary="This API as a page for people",
        answers={200: str},
        reads_store=False,
        produces="text/html; charset=utf-8",
    ),
)
