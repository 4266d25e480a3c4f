"""The routes of all pages."""

from typing import Any

from tenure.surfaces.dashboard import assets, login
from tenure.surfaces.dashboard.actions import (
    many_jobs,
    one_job,
    progress,
    replay_params,
    schedule_buttons,
    schedule_form,
    webhook_buttons,
    webhook_form,
)
from tenure.surfaces.dashboard.definitions import all_definitions, one, policy_form, retention, start_job
from tenure.surfaces.dashboard.forms import pause_forms
from tenure.surfaces.dashboard.frame import framed
from tenure.surfaces.dashboard.pages import (
    keys,
    limits,
    live,
    overview,
    queues,
    schedules,
    webhooks,
    workers,
)
from tenure.surfaces.dashboard.pages.job import job_page
from tenure.surfaces.dashboard.pages.jobs import dead_letters, job_list
from tenure.surfaces.dashboard.pages.parameters import (
    OF_DEAD_LETTERS,
    OF_DEFINITION,
    OF_JOB,
    OF_JOBS,
    OF_KEYS,
    OF_NEW_SCHEDULE,
    OF_NEW_WEBHOOK,
    OF_OVERVIEW,
    OF_SCHEDULE,
    OF_SCHEDULES,
    OF_WEBHOOK,
    OF_WEBHOOKS,
)
from tenure.surfaces.dashboard.refusals import refuse
from tenure.surfaces.dashboard.renderer import HTML
from tenure.surfaces.http.app.forms import AnyFields, Form, NoFields
from tenure.surfaces.http.app.routes import ANY, EVENT_STREAM, JSON, Handler, Route
from tenure.surfaces.http.app.routes import PAGES as AUDIENCE


def page(path: str, **rest: Any) -> Route:
    """A route that shows a page."""
    return _route("GET", path, **{"scope": "read", "answers": {200: str}, **rest})


def action(path: str, **rest: Any) -> Route:
    """The route of a form or a button."""
    return _route("POST", path, **{"scope": "operate", "answers": {303: str}, **rest})


def _of_job(name: str, handler: Handler, summary: str, form: type[Form] = NoFields) -> Route:
    return action(f"/ui/jobs/{{jobId}}/{name}", handler=handler, summary=summary, form=form)


def _of_schedule(name: str, handler: Handler, summary: str, form: type[Form] = NoFields) -> Route:
    path = f"/ui/schedules/{{namespace}}/{{name}}/{name}"
    return action(path, handler=handler, summary=summary, form=form, is_namespaced=True)


def _of_webhook(name: str, handler: Handler, summary: str, form: type[Form] = NoFields, **rest: Any) -> Route:
    path = f"/ui/webhooks/{{webhookId}}/{name}"
    return action(path, handler=handler, summary=summary, form=form, is_namespaced=True, **rest)


def _route(method: str, path: str, **rest: Any) -> Route:
    told = {"audience": AUDIENCE, "produces": HTML, "refuse": refuse, **rest}
    if told["produces"] == HTML and told["scope"] is not None:  # a form that comes back is a page, too
        told["handler"] = framed(told["handler"])
    return Route(method=method, path=path, **told)


PAGES = (
    page(
        "/login",
        handler=login.form,
        summary="The login form",
        scope=None,
        parameters=(login.NEXT,),
    ),
    action(
        "/login",
        handler=login.log_in,
        summary="Begin a session with a key",
        scope=None,
        form=login.Login,
        is_routine=True,
    ),
    action(
        "/logout",
        handler=login.log_out,
        summary="End the session",
        scope="read",
        form=NoFields,
        is_namespaced=True,
    ),
    page(
        f"{assets.PLACE}{{name}}",
        handler=assets.static,
        summary="A file that pages load",
        scope=None,
        reads_store=False,
        produces=ANY,
        refuse=None,
    ),
    page(
        "/",
        handler=overview.overview,
        summary="What needs attention, counts and charts",
        parameters=OF_OVERVIEW,
        is_namespaced=True,
    ),
    page(
        "/ui/live",
        handler=live.live,
        summary="Hints that something has happened",
        produces=EVENT_STREAM,
        is_namespaced=True,
    ),
    page("/ui/jobs", handler=job_list.jobs, summary="Jobs", parameters=OF_JOBS, is_namespaced=True),
    action(
        "/ui/jobs/act",
        handler=many_jobs.act,
        target=many_jobs.target,
        summary="Cancel, replay or delete many jobs",
        form=many_jobs.Choice,
        seconds=60.0,
        is_namespaced=True,
    ),
    page("/ui/jobs/{jobId}", handler=job_page.job, summary="One job", parameters=OF_JOB),
    page("/ui/jobs/{jobId}/live", handler=live.of_job, summary="Hints about one job", produces=EVENT_STREAM),
    page(
        "/ui/jobs/{jobId}/params",
        handler=job_page.params,
        summary="The params of a job in full",
        produces=JSON,
    ),
    page(
        "/ui/jobs/{jobId}/result",
        handler=job_page.result,
        summary="The result of a job in full",
        produces=JSON,
    ),
    _of_job("cancel", one_job.cancel, "Ask a job to stop"),
    _of_job("replay", one_job.replay, "Replay a job"),
    _of_job("try", one_job.try_one, "Replay one dead letter of a cause, to see whether the rest may follow"),
    page(
        "/ui/jobs/{jobId}/replay-with",
        handler=replay_params.form,
        summary="A form for other params of a replay",
    ),
    _of_job("replay-with", replay_params.replay, "Replay a job with other params", replay_params.ParamsForm),
    _of_job("release", one_job.release, "Release a held job"),
    _of_job("put-back", one_job.put_back, "Put back a job that is aside"),
    _of_job("give-up", one_job.give_up, "Make a job a dead letter"),
    _of_job("run-now", one_job.run_now, "Let a job that waits run now"),
    _of_job(
        "reschedule", one_job.reschedule, "Move a job that waits to another time", one_job.RescheduleForm
    ),
    _of_job("signal", progress.signal, "Send a job a signal", progress.SignalForm),
    _of_job("answer", progress.answer, "Say whether an effect in doubt has happened", progress.AnswerForm),
    page(
        "/ui/dead-letters",
        handler=dead_letters.dead_letters,
        summary="Dead letters by cause",
        parameters=OF_DEAD_LETTERS,
    ),
    page(
        "/ui/schedules",
        handler=schedules.schedules,
        summary="Schedules",
        parameters=OF_SCHEDULES,
        is_namespaced=True,
    ),
    page(
        "/ui/schedules/{namespace}/{name}",
        handler=schedules.schedule,
        summary="One schedule",
        parameters=OF_SCHEDULE,
        is_namespaced=True,
    ),
    page(
        "/ui/schedules/new",
        handler=schedule_form.new,
        summary="The form of a new schedule",
        parameters=OF_NEW_SCHEDULE,
        is_namespaced=True,
    ),
    action(
        "/ui/schedules",
        handler=schedule_form.create,
        target=schedule_form.target,
        summary="Create a schedule",
        form=AnyFields,
        is_namespaced=True,
    ),
    page(
        "/ui/schedules/{namespace}/{name}/edit",
        handler=schedule_form.edit,
        summary="The form of a schedule",
        is_namespaced=True,
    ),
    _of_schedule("edit", schedule_form.change, "Change a schedule", AnyFields),
    _of_schedule("pause", schedule_buttons.pause, "Pause a schedule", schedule_buttons.ReasonForm),
    _of_schedule("resume", schedule_buttons.resume, "Resume a schedule", schedule_buttons.ResumeForm),
    _of_schedule("trigger", schedule_buttons.trigger, "Run a schedule now"),
    _of_schedule("delete", schedule_buttons.delete, "Delete a schedule"),
    page(
        "/ui/webhooks",
        handler=webhooks.webhooks,
        summary="Webhooks",
        parameters=OF_WEBHOOKS,
        is_namespaced=True,
    ),
    page(
        "/ui/webhooks/{webhookId}",
        handler=webhooks.webhook,
        summary="One webhook with its deliveries",
        parameters=OF_WEBHOOK,
        is_namespaced=True,
    ),
    page(
        "/ui/webhooks/new",
        handler=webhook_form.new,
        summary="The form of a new webhook",
        parameters=OF_NEW_WEBHOOK,
        is_namespaced=True,
    ),
    action(
        "/ui/webhooks",
        handler=webhook_form.create,
        target=webhook_form.target,
        summary="Create a webhook, whose secret the answer shows",
        form=AnyFields,
        answers={200: str},
        is_namespaced=True,
    ),
    page(
        "/ui/webhooks/{webhookId}/edit",
        handler=webhook_form.edit,
        summary="The form of a webhook",
        is_namespaced=True,
    ),
    _of_webhook("edit", webhook_form.change, "Change a webhook", AnyFields),
    _of_webhook("pause", webhook_buttons.pause, "Pause a webhook", webhook_buttons.WhyForm),
    _of_webhook("resume", webhook_buttons.resume, "Resume a webhook", webhook_buttons.GoOnForm),
    _of_webhook("test", webhook_buttons.test, "Send a test to a webhook"),
    _of_webhook("rotate", webhook_buttons.rotate, "Give a webhook a new secret", answers={200: str}),
    _of_webhook("delete", webhook_buttons.delete, "Delete a webhook"),
    _of_webhook("redeliver", webhook_buttons.redeliver_since, "Send all again", webhook_buttons.SinceForm),
    _of_webhook("deliveries/{message}/redeliver", webhook_buttons.redeliver, "Send a delivery again"),
    page("/ui/queues", handler=queues.queues, summary="Queues"),
    action(
        "/ui/queues/{queue}/pause",
        handler=queues.pause,
        summary="Pause a queue",
        form=pause_forms.PauseForm,
    ),
    action("/ui/queues/{queue}/resume", handler=queues.resume, summary="Resume a queue", form=NoFields),
    page("/ui/limits", handler=limits.limits, summary="Limits"),
    action(
        "/ui/limits/{name}",
        handler=limits.resize,
        summary="Set the size of a limit",
        form=limits.SizeForm,
    ),
    page("/ui/workers", handler=workers.workers, summary="Workers"),
    action("/ui/workers/{workerId}/drain", handler=workers.drain, summary="Drain a worker", form=NoFields),
    page("/ui/definitions", handler=all_definitions.definitions, summary="Definitions", is_namespaced=True),
    page("/ui/keys", handler=keys.keys, summary="Keys and the audit log", scope="admin", parameters=OF_KEYS),
    page(
        "/ui/keys/{keyId}/revoke", handler=keys.sure, summary="What it means to revoke a key", scope="admin"
    ),
    action(
        "/ui/keys/{keyId}/revoke",
        handler=keys.revoke,
        summary="Revoke a key",
        scope="admin",
        form=NoFields,
        is_routine=True,
    ),
    action(
        "/ui/retention",
        handler=all_definitions.set_retention,
        target=retention.target,
        summary="Set how long finished jobs are kept",
        form=retention.RetentionForm,
    ),
    page(
        "/ui/definitions/{key}",
        handler=one.definition,
        summary="One definition",
        parameters=OF_DEFINITION,
        is_namespaced=True,
    ),
    action(
        "/ui/definitions/{key}/start",
        handler=start_job.start,
        summary="Start a job of a definition",
        form=AnyFields,
        scope="submit",
        is_namespaced=True,
    ),
    page(
        "/ui/definitions/{key}/versions/{version}/policy",
        handler=policy_form.form,
        summary="The form of a definition's policy",
    ),
    action(
        "/ui/definitions/{key}/versions/{version}/policy",
        handler=policy_form.change,
        target=policy_form.target,
        summary="Set parts of a definition's policy",
        form=AnyFields,
    ),
    action(
        "/ui/definitions/{key}/pause",
        handler=all_definitions.pause,
        summary="Pause a definition",
        form=pause_forms.DefinitionPauseForm,
    ),
    action(
        "/ui/definitions/{key}/resume",
        handler=all_definitions.resume,
        summary="Resume a definition",
        form=pause_forms.ScopeForm,
    ),
)
