"""How webhooks and their deliveries are printed."""

from collections.abc import Iterable, Sequence

import click

from tenure.api.webhook_shapes import DeliveryItem, WebhookItem
from tenure.core.values.text import plain
from tenure.core.webhooks.webhook import KnownWebhook
from tenure.surfaces.cli.output import moment, table


def print_list(items: Iterable[WebhookItem]) -> None:
    """A line for each webhook."""
    titles = ("webhook", "url", "events", "state", "waiting", "delivered", "dead")
    rows = [
        (
            str(one.id),
            "-" if one.url is None else plain(one.url),
            ",".join(one.events) or "-",
            one.state,
            f"{one.waiting:,}",
            f"{one.delivered:,}",
            f"{one.dead:,}",
        )
        for one in items
    ]
    for line in table(titles, rows, right=frozenset({"waiting", "delivered", "dead"})):
        click.echo(line)


def print_webhook(item: WebhookItem, deliveries: Sequence[DeliveryItem]) -> None:
    """One webhook: what it asks for, how it does, and its last deliveries."""
    if item.url is None or item.timeout_seconds is None:
        _print_facts({"webhook": str(item.id), "state": _state(item), "problem": plain(item.problem or "")})
        return
    sent = [name for name, is_sent in (("params", item.with_params), ("result", item.with_result)) if is_sent]
    facts = {
        "webhook": str(item.id),
        "url": plain(item.url),
        "state": _state(item),
        "events": ", ".join(item.events),
        "namespace": item.namespace or "all",
        "definitions": ", ".join(item.definitions) or "all",
        "queues": ", ".join(item.queues) or "all",
        "tags": ", ".join(item.tags) or "any",
        "sent along": " and ".join(sent) or "nothing",
        "tries": f"{item.tries}, of {item.timeout_seconds:g} s at most",
        "waiting": f"{item.waiting:,}" + (f", since {moment(item.oldest_waiting_at)}" * bool(item.waiting)),
        "delivered": f"{item.delivered:,} in the last 24 h"
        + (f", the last one {moment(item.delivered_at)}" * bool(item.delivered_at)),
        "given up": f"{item.dead:,} that are still on record",
        "created": moment(item.created_at) + (f", by key {item.created_by}" if item.created_by else ""),
        "revision": str(item.revision),
    }
    _print_facts(facts)
    if deliveries:
        click.echo()
        print_deliveries(item, deliveries)


def print_deliveries(webhook: KnownWebhook | WebhookItem, items: Sequence[DeliveryItem]) -> None:
    """A line for each delivery of a webhook, the latest first."""
    rows = [
        (
            one.message,
            one.type,
            one.state.value,
            str(one.tries),
            "-" if one.status is None else str(one.status),
            "-" if one.took_seconds is None else f"{one.took_seconds:.3f} s",
            _next_try(webhook, one),
            plain(one.problem) if one.problem else "-",
        )
        for one in items
    ]
    titles = ("message", "event", "state", "tries", "answer", "took", "next try", "problem")
    for line in table(titles, rows, right=frozenset({"tries", "took"})):
        click.echo(line)


def _print_facts(facts: dict[str, str]) -> None:
    width = max(map(len, facts)) + 2
    for name, text in facts.items():
        click.echo(f"{name:<{width}}{text}")


def _state(item: WebhookItem) -> str:
    if item.state == "paused":
        why = f": {plain(item.reason)}" if item.reason else ""
        return f"paused by {plain(item.paused_by or '')}{why}"
    if item.state == "failing":
        tries = "1 try" if item.failures == 1 else f"{item.failures:,} tries in a row"
        return f"failing since {moment(item.failing_since)}: {tries}"
    return item.state


def _next_try(webhook: KnownWebhook | WebhookItem, one: DeliveryItem) -> str:
    """When a delivery may be tried: not while its webhook is paused, nor before that is tried at all."""
    if one.next_at is None or webhook.paused_at is not None:
        return "-"
    return moment(max(one.next_at, webhook.closed_until or one.next_at))
