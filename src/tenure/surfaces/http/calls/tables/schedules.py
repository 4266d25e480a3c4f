"""The routes about schedules."""

from tenure.api import schedule_shapes as shapes
from tenure.surfaces.http.app.parameters import COUNT, CURSOR, DEFINITION, LIMIT, NAMESPACE
from tenure.surfaces.http.app.routes import Header
from tenure.surfaces.http.calls import schedules
from tenure.surfaces.http.calls.tables.audiences import changer, operator, reader

_IF_MATCH = Header(name="if-match", text="the schedule's `revision` as it was read, in quotes")
_PLANNED = ("quota", "unknown-definition", "validation")


ROUTES = (
    reader(
        "/v1/schedules",
        handler=schedules.page,
        summary="The schedules, by name",
        parameters=(NAMESPACE, DEFINITION, LIMIT, CURSOR),
        answers={200: shapes.SchedulePage},
        problems=("invalid-cursor",),
        is_namespaced=True,
    ),
    operator(
        "/v1/schedules",
        handler=schedules.create,
        parameters=(NAMESPACE,),
        target=schedules.target,
        summary="Create a schedule",
        body=shapes.NewScheduleBody,
        fields=shapes.FIELDS,
        answers={201: shapes.ScheduleItem},
        problems=("schedule-exists", *_PLANNED),
        is_namespaced=True,
    ),
    reader(
        "/v1/schedules/{name}",
        handler=schedules.get,
        parameters=(NAMESPACE,),
        summary="One schedule",
        answers={200: shapes.ScheduleItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
    changer(
        "PATCH",
        "/v1/schedules/{name}",
        handler=schedules.edit,
        parameters=(NAMESPACE,),
        summary="Change parts of a schedule",
        body=shapes.ScheduleChange,
        fields=shapes.FIELDS,
        headers=(_IF_MATCH,),
        answers={200: shapes.ScheduleItem},
        problems=(
            *(
                "not-found",
                "schedule-unreadable",
                "schedule-in-code",
                "schedule-of-task",
                "revision-required",
                "revision-mismatch",
            ),
            *_PLANNED,
        ),
    ),
    changer(
        "DELETE",
        "/v1/schedules/{name}",
        handler=schedules.delete,
        parameters=(NAMESPACE,),
        summary="Delete a schedule with its ticks; its jobs stay",
        answers={200: shapes.ScheduleGone},
        problems=("not-found",),
    ),
    operator(
        "/v1/schedules/{name}/pause",
        handler=schedules.pause,
        parameters=(NAMESPACE,),
        summary="Pause a schedule: it does not fire",
        body=shapes.SchedulePause,
        needs_body=False,
        answers={200: shapes.ScheduleItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
    operator(
        "/v1/schedules/{name}/resume",
        handler=schedules.resume,
        parameters=(NAMESPACE,),
        summary="Resume a schedule",
        body=shapes.ResumeBody,
        needs_body=False,
        answers={200: shapes.ScheduleItem},
        problems=("not-found", "schedule-unreadable", "revision-mismatch"),
        is_namespaced=True,
    ),
    operator(
        "/v1/schedules/{name}/trigger",
        handler=schedules.trigger,
        parameters=(NAMESPACE,),
        summary="Run a schedule now; its ticks stay as they are",
        body=shapes.TriggerBody,
        needs_body=False,
        fields=shapes.FIELDS,
        answers={202: shapes.TickItem},
        problems=("not-found", "schedule-unreadable", "quota"),
        is_namespaced=True,
    ),
    reader(
        "/v1/schedules/{name}/next",
        handler=schedules.coming,
        summary="The next ticks of a schedule",
        parameters=(NAMESPACE, COUNT),
        answers={200: shapes.Coming},
        problems=("not-found", "schedule-unreadable"),
        is_namespaced=True,
    ),
    reader(
        "/v1/schedules/{name}/ticks",
        handler=schedules.ticks,
        summary="What became of the ticks of a schedule, newest first",
        parameters=(NAMESPACE, LIMIT, CURSOR),
        answers={200: shapes.TickPage},
        problems=("not-found", "invalid-cursor"),
        is_namespaced=True,
    ),
)
