"""The table of all routes: routing, checks, problems and the OpenAPI document are made from it."""

from tenure.surfaces.http.calls.tables import (
    clients,
    jobs,
    leases,
    platform,
    process,
    progress,
    retention,
    schedules,
    webhooks,
)

ROUTES = (
    *clients.ROUTES,
    *jobs.ROUTES,
    *progress.ROUTES,
    *leases.ROUTES,
    *schedules.ROUTES,
    *webhooks.ROUTES,
    *platform.ROUTES,
    *retention.ROUTES,
    *process.ROUTES,
)
