"""The routes of the worker protocol. They are called too often to be put on record call by call.

Each changes a job only as its worker, whom the job's own history names.
"""

from typing import Any

from tenure.surfaces.http import lease_shapes, leasing
from tenure.surfaces.http.parameters import WAIT_FOR_JOBS
from tenure.surfaces.http.routes import Route


def _worker(path: str, method: str = "POST", **rest: Any) -> Route:
    return Route(
        method=method,
        path=path,
        audience="worker",
        scope="work",
        fields=leasing.FIELDS,
        is_routine=True,
        by_lease=True,
        **rest,
    )


ROUTES = (
    _worker(
        "/v1/leases",
        handler=leasing.claim,
        summary="Claim jobs, waiting for one if asked to",
        parameters=(WAIT_FOR_JOBS,),
        body=lease_shapes.LeaseOrder,
        answers={200: lease_shapes.Leases},
        problems=("unknown-definition",),
    ),
    _worker(
        "/v1/leases/{jobId}/heartbeat",
        handler=leasing.heartbeat,
        summary="Keep a job, and hear whether it is to stop",
        body=lease_shapes.HeartbeatBody,
        answers={200: lease_shapes.KeptLease},
        problems=("not-found", "lease-lost"),
    ),
    _worker(
        "/v1/leases/{jobId}/complete",
        handler=leasing.complete,
        summary="Report success",
        body=lease_shapes.CompleteBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/leases/{jobId}/fail",
        handler=leasing.fail,
        summary="Report a failure",
        body=lease_shapes.FailBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/leases/{jobId}/release",
        handler=leasing.release,
        summary="Give a job back",
        body=lease_shapes.ReleaseBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost", "job-aside"),
    ),
    _worker(
        "/v1/workers/{workerId}",
        "DELETE",
        handler=leasing.leave,
        summary="Say goodbye",
        answers={200: lease_shapes.Dismissed},
        problems=("not-found",),
    ),
)
