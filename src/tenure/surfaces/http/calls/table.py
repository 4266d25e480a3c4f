"""The table of all routes: routing, checks, problems and the OpenAPI document are made from it."""

from tenure.surfaces.http.calls.tables import (
    clients,
    jobs,
    leases,
    platform,
    process,
    retention,
    schedules,
    webhooks,
)

ROUTES = (
    *clients.ROUTES,
    *jobs.ROUTES,
    *leases.ROUTES,
    *schedules.ROUTES,
    *webhooks.ROUTES,
    *platform.ROUTES,
    *retention.ROUTES,
    *process.ROUTES,
)
