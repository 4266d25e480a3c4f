"""The forms of pauses: of queues and of definitions."""

import re

from tenure.core.errors import InvalidInput
from tenure.core.reports.operations import PauseScope
from tenure.core.values.bounds import named, whole
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.http.app.context import AppContext, Request
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal


class PauseForm(Form, frozen=True, kw_only=True):
    """Until when a pause holds, and why."""

    until: str | None = None
    reason: str | None = None


class ScopeForm(Form, frozen=True, kw_only=True):
    """Which version and queue of a definition; without one, any."""

    version: str | None = None
    queue: str | None = None


class DefinitionPauseForm(PauseForm, frozen=True, kw_only=True):
    """Which version and queue of a definition, until when, and why."""

    version: str | None = None
    queue: str | None = None


async def set_pause(context: AppContext, request: Request, scope: PauseScope) -> None:
    """Pause what the form of the request says."""
    form: PauseForm = request.body
    until = None if form.until is None else browser_time("until", form.until)
    await context.client.pauses.pause(scope, until=until, by=request.caller.name, reason=form.reason)


def definition_scope(key: str, form: ScopeForm | DefinitionPauseForm) -> PauseScope:
    """The scope that a form about a definition names."""
    try:
        named("definition", key)
    except InvalidInput:
        raise Refusal("not-found", "a definition cannot have this key") from None
    version = 0
    if form.version is not None:
        if not re.fullmatch("[0-9]{1,10}", form.version):
            raise InvalidInput("version", f"is {form.version!r:.64}", "give a whole number")
        version = int(form.version)
        whole("version", version, 1, 2**31 - 1)
    return PauseScope(form.queue or "", key, version)
