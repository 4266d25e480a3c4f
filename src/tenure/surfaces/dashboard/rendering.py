"""Pages out of templates. Whatever a template is given is text until the template says otherwise."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tenure.surfaces.dashboard import assets
from tenure.surfaces.dashboard.wording import FILTERS, spelled_out
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked
from tenure.surfaces.http.visits import TOKEN, Visit

if TYPE_CHECKING:
    from jinja2 import Environment

HTML = "text/html; charset=utf-8"
_POLICY = (
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"),
    *("connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
)
HEADERS = {
    "content-security-policy": "; ".join(_POLICY),
    # With none at all, browsers would not say of which origin a form is.
    "referrer-policy": "same-origin",
}


def render(
    asked: Asked,
    template: str,
    /,
    *,
    fragment: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Answer:
    """A page; where only a part of it is wanted, and there is a `fragment`, that."""
    name = fragment if fragment and asked.page.is_part else template
    body = written(name, asked.caller, asked.page, values)
    return Answer(status, body, {**HEADERS, **(headers or {})})


def written(template: str, caller: Caller, visit: Visit, values: Mapping[str, Any]) -> bytes:
    """A template filled in, with what every template is given."""
    from markupsafe import Markup

    text = (
        _environment()
        .get_template(template)
        .render(
            caller=caller,
            may=caller.scopes.__contains__,
            csrf=visit.csrf,
            csrf_field=Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN, visit.csrf),
            url=visit.url,
            **values,
        )
    )
    return text.encode()


def see_other(path: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Go on at another page, which is asked for by GET."""
    return Answer(303, b"", {"location": path, **(headers or {})})


@cache
def _environment() -> "Environment":
    # A process that serves no pages need not know how they are made.
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
    return environment
