"""Webhooks that need attention: paused by themselves, failing, without their key, or not to be read."""

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from tenure.core.reports.access import Key, opened_by
from tenure.core.reports.health import Symptom
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.address import host_in
from tenure.core.webhooks.webhook import BY_ITSELF, KnownWebhook, UnreadableWebhook, Webhook
from tenure.storage.contract.store import Store

LONG = timedelta(minutes=10)
"""How long an endpoint may fail before it is told."""


class WebhookTrouble(StrEnum):
    """What is wrong with a webhook."""

    PAUSED = "webhook-paused"
    FAILING = "webhook-failing"
    KEYLESS = "webhook-key"


class TroubledWebhook(Struct, frozen=True):
    """A webhook that needs attention, and why."""

    webhook: Webhook
    trouble: WebhookTrouble


async def troubled_webhooks(store: Store, now: datetime) -> list[TroubledWebhook | UnreadableWebhook]:
    """What is wrong with the first webhooks by id; more than a page of them is not looked at."""
    found = await store.webhooks(limit=LARGEST_PAGE)
    needs_keys = any(_reader_of(one) for one in found)
    readers = _readers(await store.keys(), now) if needs_keys else frozenset[str]()
    return [troubled for one in found if (troubled := _troubled(one, now, readers)) is not None]


def webhook_symptom(troubled: TroubledWebhook | UnreadableWebhook) -> Symptom:
    """What is wrong with a webhook, in words."""
    if isinstance(troubled, UnreadableWebhook):
        return _unreadable(troubled)
    webhook = troubled.webhook
    name = f"the webhook {webhook.id} to {host_in(webhook.asked.url)}"
    match troubled.trouble:
        case WebhookTrouble.PAUSED:
            return Symptom(
                kind=troubled.trouble,
                what=f"{name} was paused by itself: {webhook.reason or 'it fails'}",
                since=webhook.paused_at,
                cure=f"mend the receiver, then `tenure webhooks resume {webhook.id} --catch-up`",
            )
        case WebhookTrouble.FAILING:
            return Symptom(
                kind=troubled.trouble,
                what=f"{name} fails: {webhook.failures:,} tries in a row; it is tried again by itself",
                since=webhook.failing_since,
                cure=f"see why: `tenure webhooks show {webhook.id}`; after three days it is paused",
                needs_person=False,
            )
        case WebhookTrouble.KEYLESS:
            return Symptom(
                kind=troubled.trouble,
                what=f"{name} no longer gets params and results: the key {webhook.asked.creator} that asked "
                "for them is revoked, has expired or may not read",
                cure="change it with a key that may read, or by `tenure webhooks edit "
                f"{webhook.id} --without-params --without-result`",
                needs_person=False,
            )


def _unreadable(webhook: UnreadableWebhook) -> Symptom:
    return Symptom(
        kind="webhook-unreadable",
        what=f"the webhook {webhook.id} gets nothing: {webhook.problem}; its events are kept "
        "for up to a week",
        since=webhook.updated_at,
        cure="run a worker or `tenure serve` of that version, or "
        f"`tenure webhooks delete {webhook.id}` and create it again",
    )


async def stored_secrets(store: Store) -> list[Symptom]:
    """That secrets are stored in clear, if any of the first webhooks by id has one."""
    found = await store.webhooks(limit=LARGEST_PAGE)
    kept = [await store.webhook_secrets(one.id) for one in found]
    count = sum(any(secret.text is not None for secret in secrets) for secrets in kept)
    if not count:
        return []
    whose = "1 webhook" if count == 1 else f"{count} webhooks"
    return [
        Symptom(
            kind="webhook-secrets",
            what=f"secrets of {whose} are stored in clear: who reads the database can sign in your name",
            cure="set TENURE_WEBHOOK_KEY for servers and workers, then `tenure webhooks rotate` each",
            needs_person=False,
        )
    ]


async def unsent_events(store: Store) -> list[Symptom]:
    """That no process sends events to webhooks, if none has for a day or longer."""
    since = await store.unsent_since()
    if since is None:
        return []
    return [
        Symptom(
            kind="webhooks-idle",
            what="no process sends events to the webhooks; those whose jobs are removed meanwhile are lost",
            since=since,
            cure="start a worker, `tenure serve` or `tenure scheduler`; if one runs, its log says why",
        )
    ]


def _troubled(
    webhook: KnownWebhook, now: datetime, readers: Collection[str]
) -> TroubledWebhook | UnreadableWebhook | None:
    if webhook.paused_at is not None and webhook.paused_by != BY_ITSELF:
        return None
    if isinstance(webhook, UnreadableWebhook):
        return webhook
    trouble = _trouble(webhook, now, readers)
    return None if trouble is None else TroubledWebhook(webhook, trouble)


def _trouble(webhook: Webhook, now: datetime, readers: Collection[str]) -> WebhookTrouble | None:
    if webhook.paused_at is not None:
        return WebhookTrouble.PAUSED
    if webhook.failing_since is not None and now - webhook.failing_since > LONG:
        return WebhookTrouble.FAILING
    reader = _reader_of(webhook)
    return WebhookTrouble.KEYLESS if reader is not None and reader not in readers else None


def _reader_of(webhook: KnownWebhook) -> str | None:
    """The key whose rights decide whether it gets params and results, if it asks for any."""
    if isinstance(webhook, Webhook) and (webhook.asked.with_params or webhook.asked.with_result):
        return webhook.asked.creator
    return None


def _readers(keys: Collection[Key], now: datetime) -> frozenset[str]:
    """The keys that may read at present."""
    return frozenset(
        key.id
        for key in keys
        if key.revoked_at is None
        and (key.expires_at is None or key.expires_at > now)
        and "read" in opened_by(key.scopes)
    )
