"""The routes about definitions, queues, workers, the audit log and figures."""

from tenure.api import definition_shapes, definition_views, shapes, stats_views
from tenure.api.access_views import AuditPage
from tenure.surfaces.http.app.parameters import CURSOR, LIMIT
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.auth import audit
from tenure.surfaces.http.calls import definitions, operate, stats
from tenure.surfaces.http.calls.tables.audiences import operator, reader

ROUTES = (
    reader(
        "/v1/definitions",
        handler=operate.definitions,
        summary="Every definition that workers have registered",
        answers={200: shapes.Definitions},
        is_fenced=True,
    ),
    reader(
        "/v1/definitions/{key}",
        handler=operate.definition,
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
        handler=definitions.put,
        summary="Register a definition for workers in other languages",
        body=definition_shapes.DefinitionBody,
        answers={200: definition_views.DefinitionItem},
        problems=("definition-conflict", "invalid-definition"),
    ),
    reader(
        "/v1/queues",
        handler=operate.queues,
        summary="Every queue, with how many jobs wait in it",
        answers={200: shapes.Queues},
    ),
    operator(
        "/v1/queues/{queue}/pause",
        handler=operate.pause,
        summary="Pause a queue: nothing is claimed from it",
        body=shapes.PauseBody,
        needs_body=False,
        answers={200: shapes.QueueState},
        fields={"time": "until"},
        problems=("not-found", "datetime"),
    ),
    operator(
        "/v1/queues/{queue}/resume",
        handler=operate.resume,
        summary="Resume a queue",
        answers={200: shapes.QueueState},
        problems=("not-found",),
    ),
    reader(
        "/v1/workers",
        handler=operate.workers,
        summary="The workers",
        parameters=(LIMIT, CURSOR),
        answers={200: shapes.Workers},
        problems=("invalid-cursor",),
    ),
    operator(
        "/v1/workers/{workerId}/drain",
        handler=operate.drain,
        summary="Ask a worker to claim no more and end",
        answers={202: shapes.Draining},
        problems=("not-found",),
    ),
    Route(
        method="GET",
        path="/v1/audit",
        audience="operator",
        scope="admin",
        handler=audit.audit,
        summary="The audit log, the latest entry first",
        parameters=(LIMIT, CURSOR),
        answers={200: AuditPage},
        problems=("invalid-cursor",),
    ),
    reader(
        "/v1/dead-letters",
        handler=stats.dead_letters,
        summary="The causes of dead letters, in groups",
        parameters=(LIMIT,),
        answers={200: stats_views.DeadLetters},
    ),
    reader(
        "/v1/stats",
        handler=stats.stats,
        summary="How many jobs there are, how many ended lately and how long they took",
        answers={200: stats_views.Stats},
    ),
)
