"""The commands of `tenure webhooks`."""

from datetime import datetime
from typing import Any
from uuid import UUID

import click

from tenure.api import inputs
from tenure.api.webhook_shapes import WebhookGone, WebhookItem, delivery_item
from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.address import host_in
from tenure.core.webhooks.delivery import Delivery, DeliveryState
from tenure.core.webhooks.webhook import KnownWebhook, Webhook
from tenure.engine.client.client import JobClient
from tenure.engine.webhooks.webhooks import MadeSecret, Webhooks
from tenure.surfaces.cli.changes import Changes, operator, with_changes
from tenure.surfaces.cli.database import Parts, database_option, redaction_in_force, with_client
from tenure.surfaces.cli.options import moment_option, read_by, reason_option
from tenure.surfaces.cli.output import is_terminal, json_option, print_json
from tenure.surfaces.cli.webhooks.changes import change, deliver, item_of, items_of, make_secret
from tenure.surfaces.cli.webhooks.display import print_deliveries, print_list, print_webhook
from tenure.surfaces.cli.webhooks.terms import changed_by, create_terms, edit_terms, new_webhook

SHOWN = 10


def _id(text: str) -> UUID:
    if not inputs.is_job_id(text):
        raise InvalidInput("webhook", f"is {text!r:.64}", "give the id that `tenure webhooks list` shows")
    return UUID(text)


webhook_argument = click.argument("webhook", metavar="ID", callback=read_by(_id))


@click.group()
def webhooks() -> None:
    """Send events to your own servers, and see what became of them."""


@webhooks.command("list", short_help="List webhooks, and how their deliveries do.")
@click.option("--namespace", metavar="NAME", help="Only webhooks of this namespace.")
@database_option
@json_option
@click.pass_obj
def list_webhooks(parts: Parts, namespace: str | None, database: str, as_json: bool) -> None:
    """List webhooks: where they lead, what they ask for, and how their deliveries do."""

    async def work(client: JobClient) -> list[WebhookItem]:
        found: list[WebhookItem] = []
        after = None
        while True:
            page = await client.webhooks.page(namespace=namespace, after=after, limit=LARGEST_PAGE)
            found += await items_of(client.webhooks, page)
            if len(page) < LARGEST_PAGE:
                return found
            after = page[-1].id

    items = with_client(parts, database, work)
    if as_json:
        print_json({"items": items})
    elif items:
        print_list(items)
    elif is_terminal():
        click.echo("no webhooks", err=True)


@webhooks.command()
@webhook_argument
@database_option
@json_option
@click.pass_obj
def show(parts: Parts, webhook: UUID, database: str, as_json: bool) -> None:
    """Show a webhook, how it does, and its last deliveries."""

    async def work(client: JobClient) -> tuple[WebhookItem, list[Delivery]]:
        item = await item_of(client.webhooks, await client.webhooks.look(webhook))
        return item, await client.webhooks.deliveries(webhook, limit=SHOWN)

    item, found = with_client(parts, database, work)
    if as_json:
        print_json(item)
    else:
        print_webhook(item, [delivery_item(one, redaction_in_force()) for one in found])


@webhooks.command()
@click.argument("url", metavar="URL")
@create_terms
@moment_option("--since", "Also send events from this time on, as far as they are still kept.")
@database_option
@json_option
@click.pass_obj
def create(
    parts: Parts, /, url: str, since: datetime | None, database: str, as_json: bool, **terms: Any
) -> None:
    """Create a webhook, and print its secret. It cannot be shown again.

    URL is where events are sent, by POST, as JSON with signatures of Standard Webhooks. The receiver checks
    them with the secret, and takes an event once for each webhook-id.
    """

    async def work(webhooks: Webhooks) -> MadeSecret:
        paused_by = operator() if terms["is_paused"] else None
        return await webhooks.create(new_webhook(url, terms), since=since, paused_by=paused_by)

    make_secret(parts, database, "create", host_in(url), work, as_json)


@webhooks.command()
@webhook_argument
@edit_terms
@database_option
@json_option
@click.pass_obj
def edit(parts: Parts, /, webhook: UUID, database: str, as_json: bool, **terms: Any) -> None:
    """Change parts of a webhook; what is not given stays. It holds for events that come from then on."""

    async def work(webhooks: Webhooks) -> Webhook:
        known = await webhooks.get(webhook)
        return await webhooks.edit(known, changed_by(known.asked, terms), revision=known.revision)

    change(parts, database, "edit", webhook, work, as_json)


@webhooks.command()
@webhook_argument
@database_option
@json_option
@click.pass_obj
def rotate(parts: Parts, webhook: UUID, database: str, as_json: bool) -> None:
    """Give a webhook a new secret, and print it. The old one signs beside it for 24 hours."""
    make_secret(
        *(parts, database, "rotate", str(webhook)), lambda webhooks: webhooks.rotate(webhook), as_json
    )


@webhooks.command()
@webhook_argument
@reason_option
@database_option
@json_option
@click.pass_obj
def pause(parts: Parts, webhook: UUID, reason: str | None, database: str, as_json: bool) -> None:
    """Send nothing to a webhook until it is resumed."""
    change(
        *(parts, database, "pause", webhook),
        lambda webhooks: webhooks.pause(webhook, by=operator(), reason=reason),
        as_json,
    )


@webhooks.command()
@webhook_argument
@click.option(
    "--catch-up", is_flag=True, help="Also send what came during the pause, as far as it is still kept."
)
@database_option
@json_option
@click.pass_obj
def resume(parts: Parts, webhook: UUID, catch_up: bool, database: str, as_json: bool) -> None:
    """Let a paused webhook go on with events that come from now on."""
    change(
        *(parts, database, "resume", webhook),
        lambda webhooks: webhooks.resume(webhook, catch_up=catch_up),
        as_json,
    )


@webhooks.command(short_help="Send a webhook something that is no event.")
@webhook_argument
@database_option
@json_option
@click.pass_obj
def test(parts: Parts, webhook: UUID, database: str, as_json: bool) -> None:
    """Send a webhook something that is no event, and print the id of its delivery."""
    deliver(*(parts, database, "test", str(webhook)), lambda webhooks: webhooks.test(webhook), as_json)


@webhooks.command(short_help="List the deliveries of a webhook, the latest first.")
@webhook_argument
@click.option(
    "--state", type=click.Choice([one.value for one in DeliveryState]), help="Only those in this state."
)
@click.option(
    "--limit", type=click.IntRange(1, LARGEST_PAGE), default=50, metavar="N", help="How many; default: 50."
)
@database_option
@json_option
@click.pass_obj
def deliveries(
    parts: Parts, webhook: UUID, state: str | None, limit: int, database: str, as_json: bool
) -> None:
    """List what became of the deliveries of a webhook, the latest first."""

    async def work(client: JobClient) -> tuple[KnownWebhook, list[Delivery]]:
        known = await client.webhooks.look(webhook)
        which = None if state is None else DeliveryState(state)
        return known, await client.webhooks.deliveries(webhook, state=which, limit=limit)

    known, listed = with_client(parts, database, work)
    found = [delivery_item(one, redaction_in_force()) for one in listed]
    if as_json:
        print_json({"items": found})
    elif found:
        print_deliveries(known, found)
    elif is_terminal():
        click.echo("no deliveries", err=True)


@webhooks.command(short_help="Send one delivery again, or all since a time.")
@webhook_argument
@click.argument("message", metavar="[MESSAGE]", required=False)
@moment_option("--since", "Send everything since this time again, as far as events are still kept.")
@database_option
@json_option
@click.pass_obj
def redeliver(
    parts: Parts, webhook: UUID, message: str | None, since: datetime | None, database: str, as_json: bool
) -> None:
    """Send one delivery again, now; or with --since all of them from a time on.

    The receiver gets them under the message ids that they had before.
    """
    if (message is None) == (since is None):
        raise click.UsageError("give a message, or --since with a time")
    if since is not None:
        moment = since
        change(
            *(parts, database, "redeliver", webhook),
            lambda webhooks: webhooks.redeliver_since(webhook, moment),
            as_json,
        )
    elif message is not None:
        which = message
        deliver(
            *(parts, database, "redeliver", f"{webhook}/{which}"),
            lambda webhooks: webhooks.redeliver(webhook, which),
            as_json,
        )


@webhooks.command()
@webhook_argument
@database_option
@json_option
@click.pass_obj
def delete(parts: Parts, webhook: UUID, database: str, as_json: bool) -> None:
    """Delete a webhook with its deliveries. Nothing more is sent to it."""

    async def work(changes: Changes) -> None:
        await changes.make("webhooks delete", str(webhook), lambda: changes.client.webhooks.delete(webhook))

    with_changes(parts, database, work)
    if as_json:
        print_json(WebhookGone(webhook))
    else:
        click.echo(f"webhook {webhook} is deleted")
