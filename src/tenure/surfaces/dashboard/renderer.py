"""Renders pages from templates. Every value is escaped as text unless the template says otherwise."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tenure.surfaces.dashboard import assets, looks
from tenure.surfaces.dashboard.formats import FILTERS, spelled_out
from tenure.surfaces.dashboard.frame import AT_THE_THUMB, groups_of
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import Request, Response
from tenure.surfaces.http.app.page_request import TOKEN, PageRequest

if TYPE_CHECKING:
    from jinja2 import Environment

HTML = "text/html; charset=utf-8"
_POLICY = (
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"),
    *(
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ),
)
HEADERS = {
    "content-security-policy": "; ".join(_POLICY),
    # With no-referrer, browsers would not send the origin of a form.
    "referrer-policy": "same-origin",
}


def render(
    request: Request,
    template: str,
    /,
    *,
    fragment: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """A page, or its `fragment`, if it has one and the browser wants only a part."""
    name = fragment if fragment and request.page.is_part else template
    body = written(name, request.caller, request.page, values)
    if name == fragment:
        body += written("_wanted.html", request.caller, request.page, {})
    return Response(status, body, {**HEADERS, **(headers or {})})


def written(template: str, caller: Caller, page: PageRequest, values: Mapping[str, Any]) -> bytes:
    """A template, rendered with these values and those that every template gets."""
    from markupsafe import Markup

    text = (
        _environment()
        .get_template(template)
        .render(
            caller=caller,
            may=caller.scopes.__contains__,
            csrf=page.csrf,
            csrf_field=Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN, page.csrf),
            url=page.url,
            deployment=page.deployment,
            wanted=page.wanted,
            menu=groups_of(caller),
            at_the_thumb=AT_THE_THUMB,
            **values,
        )
    )
    return text.encode()


def see_other(path: str, headers: Mapping[str, str] | None = None) -> Response:
    """Redirect to another page, by GET."""
    return Response(303, b"", {"location": path, **(headers or {})})


@cache
def _environment() -> "Environment":
    # Imported here: a process that serves no pages need not load it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tenure.surfaces.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spelled_out,
        auto_reload=False,
        cache_size=-1,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["asset"] = assets.address
    environment.globals["looks"] = looks
    return environment
