"""The table of all routes: routing, checks, problems and the OpenAPI document are made from it."""

from tenure.surfaces.http.calls.tables import clients, jobs, leases, platform, process, retention

ROUTES = (*clients.ROUTES, *jobs.ROUTES, *leases.ROUTES, *platform.ROUTES, *retention.ROUTES, *process.ROUTES)
