"""The form that sets parts of a definition's policy in place of what the code says."""

from tenure.api.definition_views import PARTS, Defined, override_of, parts_of, shown
from tenure.core.errors import InvalidInput
from tenure.surfaces.dashboard.definitions.one import versions_of
from tenure.surfaces.dashboard.forms.reading import FieldReading
from tenure.surfaces.dashboard.forms.shown import Sent
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

TITLES = {
    "max-attempts": ("Attempts", "1 to 100"),
    "priority": ("Priority", "the higher, the sooner"),
    "timeout": ("Timeout", "such as 30s or 5m"),
    "grace": ("Time to stop", "after the timeout, or when it is asked to stop"),
    "retry-base": ("Back-off from", "the first pause, such as 5s"),
    "retry-cap": ("Back-off up to", "the longest pause"),
}
_PLACES = {
    "max_attempts": "max-attempts",
    "priority": "priority",
    "timeout": "timeout",
    "grace": "grace",
    "retry.base": "retry-base",
    "retry.cap": "retry-cap",
}


async def form(context: AppContext, request: Request) -> Response:
    """The form, with what is set."""
    return _form(request, await _version(context, request), Sent())


async def change(context: AppContext, request: Request) -> Response:
    """Set the parts that are filled in, and take back those that are blank."""
    defined = await _version(context, request)
    reading = FieldReading(request.body.fields)
    counts = {name: reading.whole(name) for name in ("priority", "max-attempts")}
    times = {name: reading.seconds(name) for name in PARTS if name not in counts}
    wanted = {name: value for name, value in {**counts, **times}.items() if value is not None}
    if not reading.problems:
        try:
            await context.client.override(defined.known, override_of(wanted))
            return see_other(request.page.url.rpartition("/versions/")[0])
        except InvalidInput as error:
            reading.refused(error, _PLACES)
    return _form(request, defined, reading.sent, status=422)


def target(request: Request) -> str:
    """What is set, for the audit log."""
    fields = FieldReading(request.body.fields)
    said = [f"{name}={fields.text(name) or '-'}" for name in TITLES]
    return " ".join([f"{request.path['key']}@{request.path['version']}", *said])


async def _version(context: AppContext, request: Request) -> Defined:
    for one in await versions_of(context, request):
        if str(one.known.version) == request.path["version"]:
            return one
    raise Refusal("not-found", "no worker has registered this version")


def _form(request: Request, defined: Defined, sent: Sent, status: int = 200) -> Response:
    said, now = defined.said(), parts_of(defined.override)
    fields = [
        sent.field(
            name,
            label,
            hint=hint,
            value=shown(name, now[name]) if name in now else "",
            placeholder=f"{shown(name, said[name])}, as the code says",
        )
        for name, (label, hint) in TITLES.items()
    ]
    return render(
        request,
        "policy_form.html",
        status=status,
        known=defined.known,
        address=request.page.url.partition("?")[0],
        back=request.page.url.rpartition("/versions/")[0],
        fields_shown=fields,
        problem=sent.problems.get("", ""),
    )
