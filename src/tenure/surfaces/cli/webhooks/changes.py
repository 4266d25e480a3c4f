"""Changes of webhooks on record, and what is printed of them."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import click

from tenure.api.webhook_shapes import IN_CLEAR, WebhookItem, delivery_item, made_webhook, webhook_item
from tenure.core.webhooks.delivery import Delivery
from tenure.core.webhooks.webhook import KnownWebhook
from tenure.engine.webhooks.webhooks import MadeSecret, Webhooks
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts, redaction_in_force
from tenure.surfaces.cli.output import is_terminal, print_json

PAUSED = "the webhook is paused: this is sent when it is resumed with --catch-up, and given up otherwise"


async def items_of(webhooks: Webhooks, found: Sequence[KnownWebhook]) -> list[WebhookItem]:
    figures, redaction = await webhooks.figures(found), redaction_in_force()
    return [webhook_item(one, how, redaction) for one, how in zip(found, figures, strict=True)]


async def item_of(webhooks: Webhooks, webhook: KnownWebhook) -> WebhookItem:
    [item] = await items_of(webhooks, [webhook])
    return item


def change(
    parts: Parts,
    database: str,
    verb: str,
    webhook: UUID,
    work: Callable[[Webhooks], Awaitable[KnownWebhook]],
    as_json: bool,
) -> None:
    """Make a change on record, and print what the webhook is now."""

    async def changing(changes: Changes) -> WebhookItem:
        own = changes.client.webhooks
        changed = await changes.make(f"webhooks {verb}", str(webhook), lambda: work(own))
        return await item_of(own, changed)

    item = with_changes(parts, database, changing)
    if as_json:
        print_json(item)
    else:
        click.echo(f"webhook {item.id} is {item.state}")


def make_secret(
    parts: Parts,
    database: str,
    verb: str,
    target: str,
    work: Callable[[Webhooks], Awaitable[MadeSecret]],
    as_json: bool,
) -> None:
    """Make a secret on record, and print it: on standard output alone, so that it can be piped."""

    async def making(changes: Changes) -> tuple[MadeSecret, WebhookItem]:
        own = changes.client.webhooks
        made = await changes.make(f"webhooks {verb}", target, lambda: work(own))
        return made, await item_of(own, made.webhook)

    made, item = with_changes(parts, database, making)
    if as_json:
        print_json(made_webhook(item, made.secret, is_stored=made.is_stored))
        return
    click.echo(f"{item.id} {made.secret}")
    if is_terminal():
        click.echo("save the secret now: it is not shown again", err=True)
    if made.is_stored:
        click.echo(f"note: {IN_CLEAR}", err=True)


def deliver(
    parts: Parts,
    database: str,
    verb: str,
    target: str,
    work: Callable[[Webhooks], Awaitable[Delivery]],
    as_json: bool,
) -> None:
    """Send something on record, and print what is sent; that it waits for a paused webhook is said, too."""

    async def sending(changes: Changes) -> tuple[Delivery, KnownWebhook]:
        own = changes.client.webhooks
        sent = await changes.make(f"webhooks {verb}", target, lambda: work(own))
        return sent, await own.look(sent.webhook)

    sent, webhook = with_changes(parts, database, sending)
    if as_json:
        print_json(delivery_item(sent, redaction_in_force()))
        return
    click.echo(sent.message)
    if webhook.paused_at is not None:
        click.echo(f"note: {PAUSED}", err=True)
