"""The table of all routes: routing, checks, problems and the OpenAPI document are made from it."""

from typing import Any

from tenure.surfaces import definition_views, views
from tenure.surfaces.access_views import AuditPage
from tenure.surfaces.http import (
    auditing,
    counting,
    creating,
    defining,
    intent,
    looking,
    metrics,
    operating,
    process,
    shapes,
    streams,
    sweeping,
)
from tenure.surfaces.http.parameters import CURSOR, LAST_EVENT, LIMIT, OF_FEEDS, OF_LISTS, VOCABULARY, WAIT
from tenure.surfaces.http.routes import EVENT_STREAM, Route
from tenure.telemetry.exposition import MEDIA_TYPE

LARGEST_BATCH_BODY = 16 * 2**20
_NEW_JOB = ("unknown-definition", "invalid-params", "datetime", "idempotency-key", "quota")


def _client(method: str, path: str, **rest: Any) -> Route:
    return Route(method=method, path=path, audience="client", scope="submit", **rest)


def _reader(path: str, **rest: Any) -> Route:
    return Route(method="GET", path=path, audience="operator", scope="read", **rest)


def _operator(path: str, **rest: Any) -> Route:
    return Route(method="POST", path=path, audience="operator", scope="operate", **rest)


def _of_process(path: str, **rest: Any) -> Route:
    return Route(method="GET", path=path, audience="process", scope=None, **rest)


ROUTES = (
    _client(
        "POST",
        "/jobs",
        handler=intent.submit,
        summary="Say what is to be done",
        body=shapes.NewIntent,
        answers={202: shapes.IntentAccepted},
        fields=intent.FIELDS,
        problems=(
            "unknown-definition",
            "invalid-params",
            "idempotency-key",
            "idempotency-key-reused",
            "quota",
        ),
        is_routine=True,
        is_fenced=True,
    ),
    _client(
        "GET",
        "/jobs/{jobId}",
        handler=intent.status,
        summary="What has become of it",
        answers={200: shapes.Intent},
        problems=("not-found",),
    ),
    _operator(
        "/v1/jobs",
        handler=creating.create,
        summary="Record a job",
        body=shapes.NewJobBody,
        answers={202: views.Accepted},
        fields=creating.FIELDS,
        problems=(*_NEW_JOB, "idempotency-key-reused"),
        is_routine=True,
        is_fenced=True,
    ),
    _operator(
        "/v1/jobs/batch",
        handler=creating.create_all,
        summary="Record up to 10,000 jobs, all or none",
        body=shapes.Batch,
        each=("jobs", shapes.NewJobBody),
        body_limit=LARGEST_BATCH_BODY,
        seconds=60.0,
        answers={202: shapes.BatchAccepted},
        fields=creating.FIELDS,
        problems=(*_NEW_JOB, "idempotency-key-reused"),
        is_fenced=True,
    ),
    _operator(
        "/v1/jobs/cancel",
        handler=sweeping.cancel_all,
        target=sweeping.target,
        summary="Ask all jobs of a filter to stop, a bounded number at a time",
        body=sweeping.CancelAllBody,
        seconds=60.0,
        answers={200: sweeping.SweepItem},
        problems=("datetime", "invalid-cursor"),
        is_fenced=True,
    ),
    _operator(
        "/v1/jobs/replay",
        handler=sweeping.replay_all,
        target=sweeping.target,
        summary="Run all finished jobs of a filter again, a bounded number at a time",
        body=sweeping.ReplayAllBody,
        seconds=60.0,
        answers={200: sweeping.SweepItem},
        fields=creating.OF_REPLAYS,
        problems=("datetime", "invalid-cursor", "quota"),
        is_fenced=True,
    ),
    _reader(
        "/v1/jobs",
        handler=looking.jobs,
        summary="List jobs",
        parameters=OF_LISTS,
        answers={200: views.JobPage},
        problems=("invalid-cursor",),
        is_fenced=True,
    ),
    _reader(
        "/v1/jobs/{jobId}",
        handler=looking.job,
        summary="All that is known of a job",
        parameters=(VOCABULARY,),
        answers={200: views.JobDetail},
        problems=("not-found",),
    ),
    _operator(
        "/v1/jobs/{jobId}/cancel",
        handler=operating.cancel,
        summary="Ask a job to stop",
        body=shapes.Reason,
        needs_body=False,
        answers={202: views.Accepted},
        problems=("not-found", "job-terminal"),
    ),
    _operator(
        "/v1/jobs/{jobId}/release",
        handler=operating.release,
        summary="Let a held job go",
        answers={202: views.Accepted},
        problems=("not-found", "job-terminal"),
    ),
    _operator(
        "/v1/jobs/{jobId}/replay",
        handler=creating.replay,
        summary="Run a finished job again, as a new one",
        body=shapes.ReplayBody,
        needs_body=False,
        fields=creating.OF_REPLAYS,
        answers={202: views.Accepted},
        problems=("not-found", "job-unfinished", "unknown-definition", "invalid-params", "quota"),
    ),
    _operator(
        "/v1/jobs/{jobId}/give-up",
        handler=operating.give_up,
        summary="Let a job that waits for another attempt be a dead letter",
        answers={202: views.Accepted},
        problems=("not-found", "job-terminal", "job-state"),
    ),
    _reader(
        "/v1/jobs/{jobId}/attempts",
        handler=looking.attempts,
        summary="Every start of a job",
        parameters=(LIMIT, CURSOR),
        answers={200: shapes.Attempts},
        problems=("not-found", "invalid-cursor"),
    ),
    _reader(
        "/v1/jobs/{jobId}/logs",
        handler=looking.logs,
        summary="What its attempts wrote",
        parameters=(LIMIT, CURSOR),
        answers={200: shapes.Logs},
        problems=("not-found", "invalid-cursor"),
    ),
    _reader(
        "/v1/jobs/{jobId}/events",
        handler=looking.events,
        stream=streams.job,
        summary="Its history, a page at a time or as it goes on",
        parameters=(LIMIT, CURSOR, VOCABULARY),
        headers=(LAST_EVENT,),
        answers={200: shapes.Events},
        problems=("not-found", "invalid-cursor", "invalid-event-id"),
    ),
    _reader(
        "/v1/jobs/{jobId}/result",
        handler=looking.result,
        summary="What it came to, waiting for its end if asked to",
        parameters=(WAIT,),
        answers={200: shapes.Result, 202: views.Accepted},
        problems=("not-found", "no-result"),
    ),
    _reader(
        "/v1/events",
        handler=streams.everything,
        summary="What happens to all jobs, as it happens",
        parameters=OF_FEEDS,
        headers=(LAST_EVENT,),
        answers={200: str},
        problems=("invalid-event-id",),
        produces=EVENT_STREAM,
        is_fenced=True,
    ),
    _reader(
        "/v1/definitions",
        handler=operating.definitions,
        summary="Every definition that workers have registered",
        answers={200: shapes.Definitions},
        is_fenced=True,
    ),
    _reader(
        "/v1/definitions/{key}",
        handler=operating.definition,
        summary="Every version of one definition",
        answers={200: shapes.Definitions},
        problems=("not-found",),
        is_fenced=True,
    ),
    Route(
        method="PUT",
        path="/v1/definitions/{key}/{version}",
        audience="operator",
        scope="operate",
        or_scope="work",
        handler=defining.put,
        summary="Register a definition for workers in other languages",
        body=defining.DefinitionBody,
        answers={200: definition_views.DefinitionItem},
        problems=("definition-conflict", "invalid-definition"),
    ),
    _reader(
        "/v1/queues",
        handler=operating.queues,
        summary="Every queue, and how much stands in it",
        answers={200: shapes.Queues},
    ),
    _operator(
        "/v1/queues/{queue}/pause",
        handler=operating.pause,
        summary="Let nothing be claimed from a queue",
        body=shapes.PauseBody,
        needs_body=False,
        answers={200: shapes.QueueState},
        fields={"time": "until"},
        problems=("not-found", "datetime"),
    ),
    _operator(
        "/v1/queues/{queue}/resume",
        handler=operating.resume,
        summary="Let workers claim from a queue again",
        answers={200: shapes.QueueState},
        problems=("not-found",),
    ),
    _reader(
        "/v1/workers",
        handler=operating.workers,
        summary="Who runs jobs",
        answers={200: shapes.Workers},
    ),
    _operator(
        "/v1/workers/{workerId}/drain",
        handler=operating.drain,
        summary="Ask a worker to claim no more and end",
        answers={202: shapes.Draining},
        problems=("not-found",),
    ),
    Route(
        method="GET",
        path="/v1/audit",
        audience="operator",
        scope="admin",
        handler=auditing.audit,
        summary="What was done by whom, the latest first",
        parameters=(LIMIT, CURSOR),
        answers={200: AuditPage},
        problems=("invalid-cursor",),
    ),
    _reader(
        "/v1/dead-letters",
        handler=counting.dead_letters,
        summary="What dead letters died of, in groups",
        parameters=(LIMIT,),
        answers={200: counting.DeadLetters},
    ),
    _reader(
        "/v1/stats",
        handler=counting.stats,
        summary="How many jobs there are, how many ended lately and how long they took",
        answers={200: counting.Stats},
    ),
    _of_process(
        "/healthz",
        handler=process.alive,
        summary="Whether the process is alive",
        answers={200: shapes.Health},
        reads_store=False,
        any_host=True,
    ),
    _of_process(
        "/readyz",
        handler=process.ready,
        summary="Whether the store answers, with this version's schema",
        answers={200: shapes.Health},
        any_host=True,
    ),
    _reader(
        "/metrics",
        handler=metrics.api,
        summary="What this process has counted, for Prometheus",
        answers={200: str},
        reads_store=False,
        produces=MEDIA_TYPE,
    ),
    _reader(
        "/metrics/worker",
        handler=metrics.worker,
        summary="What the worker in this process has counted",
        answers={200: str},
        problems=("not-found",),
        reads_store=False,
        produces=MEDIA_TYPE,
    ),
    _of_process(
        "/openapi.json",
        handler=process.openapi,
        summary="This surface as OpenAPI 3.1",
        answers={200: dict[str, Any]},
        reads_store=False,
    ),
    _of_process(
        "/docs",
        handler=process.docs,
        summary="This surface for people",
        answers={200: str},
        reads_store=False,
        produces="text/html; charset=utf-8",
    ),
)
