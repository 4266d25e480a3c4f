"""The table of all routes: routing, checks, problems and the OpenAPI document are made from it."""

from tenure.surfaces.http.calls.tables import clients, jobs, leases, platform, process, retention, schedules

ROUTES = (
    *clients.ROUTES,
    *jobs.ROUTES,
    *leases.ROUTES,
    *schedules.ROUTES,
    *platform.ROUTES,
    *retention.ROUTES,
    *process.ROUTES,
)
