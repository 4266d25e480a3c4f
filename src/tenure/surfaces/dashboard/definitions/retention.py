"""Retention, a part of the page of definitions: how long finished jobs are kept, and forms to set it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.api import inputs
from tenure.api.retention_shapes import written
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.reports.retention import FOR_ALL, PARTS, RetentionPolicy, RetentionRule
from tenure.surfaces.http.app.context import AppContext, Request
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import invalid

ADDRESS = "/ui/definitions#retention"
TITLES = {
    "succeeded": "Succeeded",
    "others": "Ended otherwise",
    "keyed": "With a key, at least",
    "logs": "Log lines",
}


class RetentionForm(Form, frozen=True, kw_only=True):
    """The times of a definition, or of all; what is blank is as for all."""

    definition: str = FOR_ALL
    succeeded: str = ""
    others: str = ""
    keyed: str = ""
    logs: str = ""


class KeptTime(Struct, frozen=True):
    """One time: as it is set, blank if it is not, and as it is in force."""

    name: str
    title: str
    set: str
    in_force: str


class RetentionRow(Struct, frozen=True):
    """What is set for one definition, or without a key for all."""

    key: str
    parts: Sequence[KeptTime]
    by: str
    at: datetime | None


def rows(policy: RetentionPolicy) -> list[RetentionRow]:
    """All that is set, the times for all definitions first."""
    return [_row(policy, rule) for rule in (policy.usual, *policy.rules)]


async def set_times(context: AppContext, form: RetentionForm, by: str) -> None:
    """Set the times of a definition, or of all. Raises InvalidInput that names a field of the form."""
    change = {part: _time(part, getattr(form, part)) for part in PARTS}
    try:
        await context.client.retention.set(form.definition, change, by=by)
    except UnknownDefinition:
        raise invalid("validation", "no worker has registered it", pointer="/definition") from None


def target(request: Request) -> str:
    """What is set, for the audit log."""
    form: RetentionForm = request.body
    times = [f"{part}={getattr(form, part).strip() or '-'}" for part in PARTS]
    return " ".join([form.definition or "all definitions", *times])


def _time(part: str, text: str) -> timedelta | None:
    if not text.strip():
        return None
    try:
        return inputs.duration(text.strip())
    except InvalidInput as error:
        raise InvalidInput(part, error.problem, error.remedy) from None


def _row(policy: RetentionPolicy, rule: RetentionRule) -> RetentionRow:
    in_force = policy.of(rule.definition)
    parts = [
        KeptTime(
            part, TITLES[part], written(getattr(rule, part)), written(getattr(in_force, part)) or "with job"
        )
        for part in PARTS
    ]
    return RetentionRow(rule.definition, parts, rule.by, rule.at)
