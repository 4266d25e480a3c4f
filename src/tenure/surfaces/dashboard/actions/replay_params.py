"""Replays a job with other params. Hidden values stay as they are unless they are written anew."""

import json
from typing import Any

from tenure.api.redaction import HIDDEN, Redaction
from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.model.job import Job
from tenure.core.values.documents import Document, check, write
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal

LONGEST = 65_536
"""Characters of params that the form takes."""


class ParamsForm(Form, frozen=True, kw_only=True):
    """The params as the form was shown and filled in, as JSON."""

    params: str | None = None


async def form(context: AppContext, request: Request) -> Response:
    """The form with the params of the job."""
    found = await context.client.get(request.job)
    if not found.state.is_final:
        detail = f"the job is {found.state}: only a job that has ended is replayed"
        raise Refusal("job-unfinished", detail, job_status=found.state)
    if len(found.params) > LONGEST:
        raise Refusal(
            "validation",
            f"its params have {len(found.params):,} characters, more than a form holds; "
            f"run `tenure jobs replay {found.id} --params @FILE`",
        )
    shown = context.redaction.document(found.params)
    return _form(request, found, _indented(shown), has_hidden=HIDDEN in shown)


async def replay(context: AppContext, request: Request) -> Response:
    """Replay the job with these params, and go to the new one; what is refused is said beside the form."""
    found = await context.client.get(request.job)
    given: ParamsForm = request.body
    text = given.params or ""
    try:
        params = merged(found.params, text, context.redaction)
        replayed = await context.client.replay(request.job, params=params)
        if not replayed.fresh:
            problem = f"an earlier replay, {replayed.replay}, has not ended"
            raise InvalidInput("The job", problem, "wait for its end, or cancel it")
    except InvalidInput as error:
        problem = f"{error.field} {error.problem}{': ' if error.remedy else ''}{error.remedy}."
        has_hidden = HIDDEN in context.redaction.document(found.params)
        return _form(request, found, text, has_hidden=has_hidden, problem=problem, status=422)
    return see_other(job_address(replayed.replay or request.job))


def _form(
    request: Request, job: Job, text: str, *, has_hidden: bool, problem: str = "", status: int = 200
) -> Response:
    return render(
        request, "job_replay.html", status=status, job=job, text=text, has_hidden=has_hidden, problem=problem
    )


def _indented(document: Document) -> str:
    return json.dumps(json.loads(document), indent=2, ensure_ascii=False)


def merged(original: Document, text: str, redaction: Redaction) -> Document:
    """The params in a text, with the original value wherever the text has what is shown of it.

    Raises InvalidInput for what is no JSON, and for a hidden value in another place than its own.
    """
    try:
        given = json.loads(check(text))
    except InvalidJson as error:
        raise InvalidInput("params", error.problem, 'write JSON, such as {"order": 17}') from None
    shown = json.loads(redaction.document(original))
    return write(_merged(json.loads(original), shown, given))


def _merged(known: Any, shown: Any, given: Any) -> Any:
    if given == shown and type(given) is type(shown):
        return known
    if isinstance(given, dict) and isinstance(shown, dict):
        return {
            name: _merged(known[name], shown[name], one) if name in shown else _as_written(one)
            for name, one in given.items()
        }
    if isinstance(given, list) and isinstance(shown, list) and len(given) == len(shown):
        return [_merged(*three) for three in zip(known, shown, given, strict=True)]
    return _as_written(given)


def _as_written(given: Any) -> Any:
    """What was written anew; a hidden value that was moved here is lost."""
    if HIDDEN in json.dumps(given):
        problem = f"have {HIDDEN} where no such value was"
        raise InvalidInput("params", problem, "write the value itself")
    return given
