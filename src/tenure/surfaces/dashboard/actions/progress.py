"""The forms about a job's progress: a signal for it, and answers about its effects in doubt."""

from typing import Literal

from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.model.durable import EffectAnswer, Signal
from tenure.core.values.documents import NULL, Document, check
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.dashboard.renderer import see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.calls.progress import refusals


class SignalForm(Form, frozen=True, kw_only=True):
    """A signal: its name, and its payload as JSON."""

    name: str | None = None
    payload: str | None = None


class AnswerForm(Form, frozen=True, kw_only=True):
    """What is known of an effect, and its result as JSON if it has happened."""

    effect: str
    happened: Literal["yes", "no"]
    result: str | None = None


async def signal(context: AppContext, request: Request) -> Response:
    """Send the job a signal."""
    form: SignalForm = request.body
    if form.name is None:
        raise InvalidInput("name", "is missing", "give the name of the signal")
    told = Signal(name=form.name, by=request.caller.actor, body=_document("payload", form.payload))
    async with refusals():
        await context.client.durable.signal(request.job, told)
    return see_other(job_address(request.job))


async def answer(context: AppContext, request: Request) -> Response:
    """Say whether the effect has happened."""
    form: AnswerForm = request.body
    happened = form.happened == "yes"
    said = EffectAnswer(
        step=form.effect,
        happened=happened,
        by=request.caller.actor,
        result=_document("result", form.result) if happened else NULL,
    )
    async with refusals():
        await context.client.durable.answer(request.job, said)
    return see_other(job_address(request.job))


def _document(field: str, text: str | None) -> Document:
    """The document in a field; null if that is blank. A text that is no JSON is refused."""
    if text is None or not text.strip():
        return NULL
    try:
        return check(text)
    except InvalidJson as error:
        raise InvalidInput(field, error.problem, 'write JSON, such as true, "yes" or {"by": "ann"}') from None
