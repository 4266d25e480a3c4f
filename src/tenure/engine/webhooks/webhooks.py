"""Webhooks as operators change them: every change is checked before anything is written."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.values.bounds import CALENDAR, printable, within
from tenure.core.webhooks.delivery import Delivery, DeliveryState, LastTries, NewDelivery
from tenure.core.webhooks.endpoint import check_url
from tenure.core.webhooks.signature import derived_secret, random_secret
from tenure.core.webhooks.webhook import (
    KnownWebhook,
    NewWebhook,
    UnreadableWebhook,
    Webhook,
    WebhookFigures,
)
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store

OLD_SECRET_KEPT = timedelta(hours=24)
"""How long the secret before a rotation signs beside the new one."""

TEST = "test"
"""The type of what a test sends; no event has it."""

T = TypeVar("T")
_NO_FIGURES = WebhookFigures(waiting=0, oldest_waiting=None, delivered=0, dead=0)


class WebhookNotFound(TenureError, LookupError):
    """There is no webhook of that id."""

    def __init__(self, webhook_id: UUID) -> None:
        super().__init__(f"there is no webhook {webhook_id}")


class DeliveryNotFound(TenureError, LookupError):
    """The webhook has no delivery of that message, or no longer."""

    def __init__(self, message: str) -> None:
        super().__init__(f"the webhook has no delivery {message!r:.140}, or no longer")


class WebhookChanged(TenureError):
    """The webhook has changed since it was read; nothing was written."""

    def __init__(self, webhook_id: UUID) -> None:
        super().__init__(f"the webhook {webhook_id} has changed since it was read; read it again")


class WebhookUnreadable(TenureError):
    """This version cannot read the webhook: a newer one may have written it."""

    def __init__(self, known: UnreadableWebhook) -> None:
        super().__init__(f"the webhook {known.id}: {known.problem}; use that version to change it")
        self.known = known


class WebhookTerms(Struct, frozen=True, kw_only=True):
    """What the settings say of webhooks: the networks that are allowed, and the key of derived secrets.

    Without a key each secret is random, and stored.
    """

    allow: tuple[str, ...] = ()
    key: str = ""

    @classmethod
    def of(cls, settings: Settings) -> "WebhookTerms":
        """The terms by the settings."""
        return cls(allow=settings.webhook_allow, key=settings.webhook_key)

    def __repr__(self) -> str:
        return f"WebhookTerms(allow={self.allow!r}, key={'set' if self.key else 'not set'})"


class MadeSecret(Struct, frozen=True):
    """A webhook with the secret that was made for it, for its owner alone."""

    webhook: Webhook
    secret: str
    is_stored: bool

    def __repr__(self) -> str:
        return f"MadeSecret({self.webhook.id})"


class Webhooks:
    """The webhooks of a store. A caller that is bound to a `namespace` finds those of it alone."""

    def __init__(self, store: Store, terms: WebhookTerms) -> None:
        self._store = store
        self._terms = terms

    async def now(self) -> datetime:
        """The store's time."""
        return await self._store.now()

    async def create(
        self, new: NewWebhook, *, since: datetime | None = None, paused_by: str | None = None
    ) -> MadeSecret:
        """Record a webhook, which is paused if it says by whom.

        Raises InvalidInput for a URL that is refused, or a time that is to come.
        """
        check_url(new.url, self._terms.allow)
        await self._check_past(since)
        stored = None if self._terms.key else random_secret()
        made = await self._store.add_webhook(new, secret=stored, since=since, paused_by=paused_by)
        return self._told(made, stored)

    async def look(self, webhook_id: UUID, *, namespace: str | None = None) -> KnownWebhook:
        """The webhook, as far as this version can read it. Raises WebhookNotFound."""
        found = await self._store.webhook(webhook_id)
        if found is None or namespace not in {None, found.namespace}:
            raise WebhookNotFound(webhook_id)
        return found

    async def get(self, webhook_id: UUID, *, namespace: str | None = None) -> Webhook:
        """The webhook. Raises WebhookNotFound, WebhookUnreadable."""
        found = await self.look(webhook_id, namespace=namespace)
        if isinstance(found, UnreadableWebhook):
            raise WebhookUnreadable(found)
        return found

    async def page(
        self, *, namespace: str | None = None, after: UUID | None = None, limit: int = 50
    ) -> Sequence[KnownWebhook]:
        """Webhooks by id, as far as this version can read them."""
        return await self._store.webhooks(namespace=namespace, after=after, limit=limit)

    async def figures(self, webhooks: Sequence[KnownWebhook]) -> list[WebhookFigures]:
        """How the deliveries of webhooks do, in their order."""
        found = await self._store.webhook_figures([one.id for one in webhooks])
        return [found.get(one.id, _NO_FIGURES) for one in webhooks]

    async def edit(self, read: Webhook, changed: NewWebhook, *, revision: int) -> Webhook:
        """Replace what a webhook asks for, if it has this revision still.

        Raises InvalidInput, WebhookNotFound or WebhookChanged.
        """
        if read.revision != revision:
            raise WebhookChanged(read.id)
        if changed.url != read.asked.url:
            check_url(changed.url, self._terms.allow)
        edited = await self._store.change_webhook(read, changed)
        if edited is None:
            await self.get(read.id)
            raise WebhookChanged(read.id)
        return edited

    async def rotate(self, webhook_id: UUID) -> MadeSecret:
        """Give it a new secret; the old one signs beside it for a day.

        Raises WebhookNotFound, WebhookUnreadable.
        """
        await self.get(webhook_id)
        stored = None if self._terms.key else random_secret()
        rotated = await self._store.rotate_webhook(webhook_id, secret=stored, keep=OLD_SECRET_KEPT)
        if rotated is None:
            raise WebhookNotFound(webhook_id)
        return self._told(rotated, stored)

    async def is_stored(self, webhook_id: UUID) -> bool:
        """Whether its newest secret is stored in clear."""
        known = await self._store.webhook_secrets(webhook_id)
        return bool(known) and known[0].text is not None

    async def pause(self, webhook_id: UUID, *, by: str = "api", reason: str | None = None) -> KnownWebhook:
        """Send nothing until it is resumed. Raises WebhookNotFound."""
        if reason is not None:
            printable("reason", reason)
        paused: KnownWebhook | None = await self._store.pause_webhook(webhook_id, by=by, reason=reason)
        if paused is None:
            raise WebhookNotFound(webhook_id)
        return paused

    async def resume(self, webhook_id: UUID, *, catch_up: bool = False) -> Webhook:
        """Go on: with `catch_up` from where it was paused, else from now on.

        Raises WebhookNotFound, WebhookUnreadable.
        """
        await self.get(webhook_id)
        return _known(webhook_id, await self._store.resume_webhook(webhook_id, catches_up=catch_up))

    async def delete(self, webhook_id: UUID) -> None:
        """Remove it with its deliveries. Raises WebhookNotFound."""
        if not await self._store.delete_webhook(webhook_id):
            raise WebhookNotFound(webhook_id)

    async def test(self, webhook_id: UUID) -> Delivery:
        """Send it something that is no event. Raises WebhookNotFound, WebhookUnreadable."""
        await self.get(webhook_id)
        now = await self._store.now()
        body = msgspec.json.encode({"type": TEST, "timestamp": now}).decode()
        new = NewDelivery(webhook=webhook_id, message=f"msg_test_{uuid4().hex}", type=TEST, at=now, body=body)
        return _known(webhook_id, await self._store.add_delivery(new))

    async def deliveries(
        self,
        webhook_id: UUID,
        *,
        state: DeliveryState | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> list[Delivery]:
        """Its deliveries, those noted last first."""
        return await self._store.deliveries(webhook_id, state=state, before=before, limit=limit)

    async def last_tries(self, webhook_id: UUID) -> LastTries:
        """How its deliveries were tried last: of each state those that were noted last."""
        return await self._store.last_tries(webhook_id)

    async def delivery(self, webhook_id: UUID, message: str) -> Delivery:
        """One delivery. Raises DeliveryNotFound."""
        found = await self._store.delivery(webhook_id, message)
        if found is None:
            raise DeliveryNotFound(message)
        return found

    async def redeliver(self, webhook_id: UUID, message: str) -> Delivery:
        """Send one again now. Raises DeliveryNotFound."""
        found = await self._store.redeliver(webhook_id, message)
        if found is None:
            raise DeliveryNotFound(message)
        return found

    async def redeliver_since(self, webhook_id: UUID, since: datetime) -> Webhook:
        """Send everything since a moment again, as far as events are kept.

        Raises InvalidInput for a time that is to come, WebhookNotFound, or WebhookUnreadable.
        """
        await self._check_past(since)
        await self.get(webhook_id)
        return _known(webhook_id, await self._store.redeliver_since(webhook_id, since))

    async def _check_past(self, since: datetime | None) -> None:
        if since is None:
            return
        within("since", since, *CALENDAR)
        if since > await self._store.now():
            raise InvalidInput("since", "is in the future", "give a time that has passed")

    def _told(self, webhook: Webhook, stored: str | None) -> MadeSecret:
        if stored is not None:
            return MadeSecret(webhook, stored, is_stored=True)
        derived = derived_secret(self._terms.key, webhook.id, webhook.rotation)
        return MadeSecret(webhook, derived, is_stored=False)


def _known(webhook_id: UUID, answer: T | None) -> T:
    if answer is None:
        raise WebhookNotFound(webhook_id)
    return answer
