"""The routes of the worker protocol. They are called too often for the audit log.

Each changes a job only as its worker, which the job's own history names.
"""

from typing import Any

from tenure.api import lease_shapes
from tenure.surfaces.http.app.parameters import WAIT_FOR_JOBS
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls import leases


def _worker(path: str, method: str = "POST", **rest: Any) -> Route:
    return Route(
        method=method,
        path=path,
        audience="worker",
        scope="work",
        fields=leases.FIELDS,
        is_routine=True,
        by_lease=True,
        **rest,
    )


ROUTES = (
    _worker(
        "/v1/leases",
        handler=leases.claim,
        summary="Claim jobs, waiting for one if asked to",
        parameters=(WAIT_FOR_JOBS,),
        body=lease_shapes.LeaseOrder,
        answers={200: lease_shapes.Leases},
        problems=("unknown-definition",),
    ),
    _worker(
        "/v1/leases/{jobId}/heartbeat",
        handler=leases.heartbeat,
        summary="Prolong a lease, and learn whether the job is to stop",
        body=lease_shapes.HeartbeatBody,
        answers={200: lease_shapes.KeptLease},
        problems=("not-found", "lease-lost"),
    ),
    _worker(
        "/v1/leases/{jobId}/complete",
        handler=leases.complete,
        summary="Report success",
        body=lease_shapes.CompleteBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/leases/{jobId}/fail",
        handler=leases.fail,
        summary="Report a failure",
        body=lease_shapes.FailBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/leases/{jobId}/release",
        handler=leases.release,
        summary="Give a job back",
        body=lease_shapes.ReleaseBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/workers/{workerId}",
        "DELETE",
        handler=leases.leave,
        summary="Remove a worker that has ended",
        answers={200: lease_shapes.Dismissed},
        problems=("not-found",),
    ),
)
