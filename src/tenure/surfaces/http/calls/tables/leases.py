"""The routes of the worker protocol. They are called too often for the audit log.

Each changes a job only as its worker, which the job's own history names.
"""

from typing import Any

from tenure.api import lease_progress_shapes, lease_shapes
from tenure.surfaces.http.app.parameters import TOKEN, WAIT_FOR_JOBS
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls import lease_progress, leases


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
        "/v1/leases/{jobId}/suspend",
        handler=leases.suspend,
        summary="Let a job wait for a time or for a signal",
        body=lease_progress_shapes.SuspendBody,
        answers={200: lease_shapes.AttemptEnded},
        problems=("not-found", "lease-lost"),
    ),
    _worker(
        "/v1/leases/{jobId}/steps",
        "GET",
        handler=lease_progress.recall,
        summary="What the job has kept so far",
        parameters=(TOKEN,),
        answers={200: lease_progress_shapes.FoundProgress},
        problems=("not-found", "lease-lost"),
    ),
    _worker(
        "/v1/leases/{jobId}/steps/{step}",
        "GET",
        handler=lease_progress.recall_step,
        summary="One step, with its whole result",
        parameters=(TOKEN,),
        answers={200: lease_progress_shapes.FoundStep},
        problems=("not-found",),
    ),
    _worker(
        "/v1/leases/{jobId}/steps/{step}",
        "PUT",
        handler=lease_progress.keep,
        summary="Keep a step",
        body=lease_progress_shapes.StepBody,
        answers={200: lease_progress_shapes.StepAnswer},
        problems=("not-found", "lease-lost", "step-differs", "progress-full"),
    ),
    _worker(
        "/v1/leases/{jobId}/signals/{signal}",
        "GET",
        handler=lease_progress.recall_signal,
        summary="One signal, with its whole payload",
        parameters=(TOKEN,),
        answers={200: lease_progress_shapes.FoundSignal},
        problems=("not-found",),
    ),
    _worker(
        "/v1/leases/{jobId}/state",
        "PUT",
        handler=lease_progress.save,
        summary="Save the state that a later attempt is to find",
        body=lease_progress_shapes.StateBody,
        answers={200: lease_progress_shapes.StateSaved},
        problems=("not-found", "lease-lost"),
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
