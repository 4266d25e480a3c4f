"""The page of one definition: figures, a form that starts a job, policy, latest jobs, versions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from tenure.api.definition_views import Defined
from tenure.core.reports.operations import LineStatus, WorkerStatus
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.engine.figures.statistics import PERIODS
from tenure.engine.figures.trends import WEEK, WEEK_PART
from tenure.surfaces.dashboard.definitions import measured, policy
from tenure.surfaces.dashboard.figures.charts import duration_chart, ended_chart
from tenure.surfaces.dashboard.forms.posted import AS_JSON
from tenure.surfaces.dashboard.forms.schema_fields import form_of
from tenure.surfaces.dashboard.forms.shown import ReturnedForm, Sent, ShownField, ShownGroup, shown
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

PERIOD_WORDS = {"hour": "1 hour", "day": "24 hours", "week": "7 days"}
USUAL_PERIOD = "day"
MOST_NAMED = 5
LARGEST_SHOWN = 65_536
NOT_RETURNED = ReturnedForm()


class Version(Struct, frozen=True):
    """A version with the workers that serve it, and how many of its jobs wait."""

    defined: Defined
    schema: str
    workers: Sequence[str]
    waiting: int


class StartForm(Struct, frozen=True, kw_only=True):
    """The form that starts a job: its fields, or one for JSON, and those of its options."""

    parts: Sequence[ShownField | ShownGroup]
    options: Sequence[ShownField]
    is_json: bool = False
    has_fields: bool = True
    problem: str = ""


async def definition(context: AppContext, request: Request) -> Response:
    """The page of a definition."""
    newest, *older = await versions_of(context, request)
    is_json = request.query.get("form") == "json"
    form = start_form(newest, Sent(), Sent(), is_json=is_json)
    return await page_of(context, request, [newest, *older], form)


async def again(context: AppContext, request: Request, returned: ReturnedForm) -> Response:
    """The page with a small form that came back."""
    found = await versions_of(context, request)
    form = start_form(found[0], Sent(), Sent(), is_json=False)
    return await page_of(context, request, found, form, returned=returned, status=422)


async def versions_of(context: AppContext, request: Request) -> list[Defined]:
    """Every version that the path means, the newest first. Raises Refusal if there is none."""
    key = request.path["key"]
    found = [Defined(known) for known in await context.client.definitions() if known.key == key]
    if not found:
        raise Refusal("not-found", "no worker has registered a definition with this key")
    return found[::-1]


def start_form(
    defined: Defined, params: Sent, options: Sent, *, is_json: bool, text: str | None = None
) -> StartForm:
    """The form that starts a job, as it is to be shown: with what was sent, or blank."""
    parts = form_of(defined.spec.params_schema)
    if is_json or parts is None:
        stands = "{}" if text is None else text
        params = Sent({AS_JSON: stands, **params.values}, params.problems)
        fields: list[ShownField | ShownGroup] = [
            params.field(AS_JSON, "Params", hint="one object with all params, as JSON", is_long=True)
        ]
    else:
        fields = shown(parts, params)
    return StartForm(
        parts=fields,
        options=_options(options, defined.spec.queue),
        is_json=is_json or parts is None,
        has_fields=parts is not None,
        problem=params.problems.get("", "") or options.problems.get("", ""),
    )


async def page_of(
    context: AppContext,
    request: Request,
    found: Sequence[Defined],
    form: StartForm,
    *,
    returned: ReturnedForm = NOT_RETURNED,
    status: int = 200,
) -> Response:
    """The page with a form, which may have come back."""
    key, own = found[0].known.key, request.caller.namespace
    period = request.query.get("period", USUAL_PERIOD)
    address = f"/ui/definitions/{quote(key, safe='')}"
    return render(
        request,
        "definition.html",
        fragment="_definition.html",
        status=status,
        key=key,
        # A form that has come back is not at the address of the page.
        region_url=request.page.url if request.page.method == "GET" else address,
        address=address,
        newest=found[0],
        version_choices=[("", "all versions"), *((str(one.known.version),) * 2 for one in found)],
        form=form,
        returned=returned,
        period=period,
        used=await measured.used(context, key, own),
        latest=await measured.latest(context, key, own),
        webhooks=await _webhooks(context, key, own),
        **(await _shared(context, found, period, address) if own is None else _NOTHING_SHARED),
        versions=await _versions(context, found, is_shared=own is None),
    )


_NOTHING_SHARED: dict[str, Any] = {
    "trend": None,
    "ended": None,
    "took": None,
    "periods": [],
    "period_word": "",
    "per": "",
    "pauses": [],
    "shows_pauses": False,
    "policy": [],
}
"""What belongs to all namespaces is not shown to a caller that is bound to one."""


async def _shared(
    context: AppContext, found: Sequence[Defined], period: str, address: str
) -> Mapping[str, Any]:
    key, client = found[0].known.key, context.client
    trend = await client.trends.of_definition(key, period)
    now = await client.schedules.now()
    parts = PERIODS[period][1] if period in PERIODS else WEEK // WEEK_PART
    limits = await client.limits.page(limit=LARGEST_PAGE)
    return {
        "trend": trend,
        "ended": ended_chart(trend.series, now, parts),
        "took": duration_chart(trend.series, now, parts),
        "periods": [(f"{address}?period={name}", word) for name, word in PERIOD_WORDS.items()],
        "period_word": PERIOD_WORDS[period],
        "per": {"hour": "minute", "day": "hour"}.get(period, "3 h"),
        "shows_pauses": True,
        "pauses": [one for one in await client.pauses.look() if one.scope.definition == key],
        "policy": policy.rows(
            found[0], {use.name: use.size for use in limits.uses}, await client.retention.get()
        ),
    }


async def _versions(context: AppContext, found: Sequence[Defined], *, is_shared: bool) -> list[Version]:
    workers: Sequence[WorkerStatus] = await context.client.workers() if is_shared else ()
    lines: Sequence[LineStatus] = await context.client.lines() if is_shared else ()
    return [
        Version(
            one,
            json.dumps(json.loads(one.spec.params_schema), indent=2, ensure_ascii=False)[:LARGEST_SHOWN],
            [known.worker.id for known in workers if known.is_alive and _serves(known, one)],
            sum(line.counts.get("queued", 0) for line in lines if _is_of(line, one)),  # type: ignore[call-overload]
        )
        for one in found
    ]


def _serves(known: WorkerStatus, one: Defined) -> bool:
    return any((line.definition, line.version) == _name(one) for line in known.worker.lines)


def _is_of(line: LineStatus, one: Defined) -> bool:
    return (line.line.definition, line.line.version) == _name(one)


def _name(one: Defined) -> tuple[str, int]:
    return one.known.key, one.known.version


async def _webhooks(context: AppContext, key: str, namespace: str | None) -> int:
    """How many webhooks name it."""
    found = await context.client.webhooks.page(namespace=namespace, limit=LARGEST_PAGE)
    return sum(key in one.asked.definitions for one in found if hasattr(one, "asked"))


def _options(sent: Sent, queue: str) -> list[ShownField]:
    return [
        sent.field("queue", "Queue", hint="blank for that of the definition", placeholder=queue),
        sent.field("priority", "Priority", hint="the higher, the sooner", mode="numeric"),
        sent.field("delay", "Delay", hint="such as 90s, 15m or 2h"),
        sent.field("key", "Idempotency key", hint="the same key makes no second job"),
        sent.field("tags", "Tags", hint="with commas between them"),
    ]
