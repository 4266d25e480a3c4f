"""Handlers for Prometheus: what a process has counted."""

from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal


async def api(context: AppContext, _request: Request) -> Response:
    """The metrics of this process, in the text format of Prometheus."""
    return Response(200, await context.metrics.text())


async def worker(context: AppContext, _request: Request) -> Response:
    """The metrics of the worker in this process, in the text format of Prometheus."""
    if context.worker_metrics is None:
        raise Refusal("not-found", "there is no worker in this process")
    return Response(200, await context.worker_metrics.text())
