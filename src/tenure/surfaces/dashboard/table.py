"""The table of all pages. They are routes like any other, for people and their browsers."""

from typing import Any

from tenure.surfaces.dashboard import assets, login
from tenure.surfaces.dashboard.pages import overview
from tenure.surfaces.dashboard.refusing import refuse
from tenure.surfaces.dashboard.rendering import HTML
from tenure.surfaces.http.forms import NoFields
from tenure.surfaces.http.routes import ANY, Route
from tenure.surfaces.http.routes import PAGES as AUDIENCE


def page(path: str, **rest: Any) -> Route:
    """A page that shows something."""
    return _route("GET", path, **{"scope": "read", "answers": {200: str}, **rest})


def action(path: str, **rest: Any) -> Route:
    """What a form, or a button, does."""
    return _route("POST", path, **{"scope": "operate", "answers": {303: str}, **rest})


def _route(method: str, path: str, **rest: Any) -> Route:
    return Route(
        method=method, path=path, **{"audience": AUDIENCE, "produces": HTML, "refuse": refuse, **rest}
    )


PAGES = (
    page(
        "/login",
        handler=login.form,
        summary="The way in",
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
        is_fenced=True,
    ),
    page(
        f"{assets.PLACE}{{name}}",
        handler=assets.static,
        summary="What pages load",
        scope=None,
        reads_store=False,
        produces=ANY,
        refuse=None,
    ),
    page("/", handler=overview.overview, summary="What there is at present"),
)
