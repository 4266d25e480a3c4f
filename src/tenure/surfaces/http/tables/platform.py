"""The routes about what jobs run on: definitions, queues, workers; and what was done and counted there."""

from tenure.surfaces import definition_views
from tenure.surfaces.access_views import AuditPage
from tenure.surfaces.http import auditing, counting, defining, operating, shapes
from tenure.surfaces.http.parameters import CURSOR, LIMIT
from tenure.surfaces.http.routes import Route
from tenure.surfaces.http.tables.audiences import operator, reader

ROUTES = (
    reader(
        "/v1/definitions",
        handler=operating.definitions,
        summary="Every definition that workers have registered",
        answers={200: shapes.Definitions},
        is_fenced=True,
    ),
    reader(
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
    reader(
        "/v1/queues",
        handler=operating.queues,
        summary="Every queue, and how much stands in it",
        answers={200: shapes.Queues},
    ),
    operator(
        "/v1/queues/{queue}/pause",
        handler=operating.pause,
        summary="Let nothing be claimed from a queue",
        body=shapes.PauseBody,
        needs_body=False,
        answers={200: shapes.QueueState},
        fields={"time": "until"},
        problems=("not-found", "datetime"),
    ),
    operator(
        "/v1/queues/{queue}/resume",
        handler=operating.resume,
        summary="Let workers claim from a queue again",
        answers={200: shapes.QueueState},
        problems=("not-found",),
    ),
    reader(
        "/v1/workers",
        handler=operating.workers,
        summary="Who runs jobs",
        parameters=(LIMIT, CURSOR),
        answers={200: shapes.Workers},
        problems=("invalid-cursor",),
    ),
    operator(
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
    reader(
        "/v1/dead-letters",
        handler=counting.dead_letters,
        summary="What dead letters died of, in groups",
        parameters=(LIMIT,),
        answers={200: counting.DeadLetters},
    ),
    reader(
        "/v1/stats",
        handler=counting.stats,
        summary="How many jobs there are, how many ended lately and how long they took",
        answers={200: counting.Stats},
    ),
)
