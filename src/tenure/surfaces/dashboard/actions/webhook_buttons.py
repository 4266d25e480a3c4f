"""Buttons of a webhook: pause, resume, test, rotate, send again, delete."""

from tenure.api.webhook_shapes import IN_CLEAR
from tenure.core.errors import InvalidInput
from tenure.engine.webhooks.webhooks import MadeSecret
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.dashboard.forms.shown import ReturnedForm
from tenure.surfaces.dashboard.pages.addresses import WEBHOOKS, webhook_address
from tenure.surfaces.dashboard.pages.webhooks import page_of
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.calls.webhook_bodies import known_webhook, message_in, refusals, webhook_of


class WhyForm(Form, frozen=True, kw_only=True):
    """Why a webhook is paused."""

    reason: str | None = None


class GoOnForm(Form, frozen=True, kw_only=True):
    """Whether what came during the pause is sent."""

    catch_up: bool = False


class SinceForm(Form, frozen=True, kw_only=True):
    """From when on everything is sent again."""

    since: str = ""


async def pause(context: AppContext, request: Request) -> Response:
    """Send nothing to a webhook."""
    form: WhyForm = request.body
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.pause(known.id, by=request.caller.name, reason=form.reason)
    return see_other(webhook_address(known.id))


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused webhook go on."""
    form: GoOnForm = request.body
    known = await webhook_of(context, request)
    async with refusals():
        await context.client.webhooks.resume(known.id, catch_up=form.catch_up)
    return see_other(webhook_address(known.id))


async def test(context: AppContext, request: Request) -> Response:
    """Send a webhook something that is no event."""
    known = await webhook_of(context, request)
    async with refusals():
        await context.client.webhooks.test(known.id)
    return see_other(webhook_address(known.id))


async def rotate(context: AppContext, request: Request) -> Response:
    """Give a webhook a new secret. The answer shows it, and no page does so again."""
    known = await webhook_of(context, request)
    async with refusals():
        made = await context.client.webhooks.rotate(known.id)
    return secret_page(context, request, made, is_new=False)


async def redeliver(context: AppContext, request: Request) -> Response:
    """Send one delivery again."""
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.redeliver(known.id, message_in(request))
    return see_other(webhook_address(known.id))


async def redeliver_since(context: AppContext, request: Request) -> Response:
    """Send everything since a moment again."""
    form: SinceForm = request.body
    known = await webhook_of(context, request)
    try:
        if not form.since:
            raise InvalidInput("since", "is missing", "write a time")
        since = browser_time("since", form.since)
        async with refusals():
            await context.client.webhooks.redeliver_since(known.id, since)
    except InvalidInput as error:
        return await page_of(context, request, ReturnedForm.refused("again", form, error), status=422)
    return see_other(webhook_address(known.id))


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a webhook with its deliveries."""
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.delete(known.id)
    return see_other(WEBHOOKS)


def secret_page(context: AppContext, request: Request, made: MadeSecret, *, is_new: bool) -> Response:
    """The page with a secret, this once."""
    return render(
        request,
        "webhook_secret.html",
        receiver=context.redaction.text(made.webhook.asked.url),
        address=webhook_address(made.webhook.id),
        secret=made.secret,
        is_new=is_new,
        note=IN_CLEAR if made.is_stored else None,
    )
