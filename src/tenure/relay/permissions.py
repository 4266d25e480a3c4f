"""Which webhooks may be sent documents of jobs: params, results, and what handlers have noted."""

from collections.abc import Iterable
from uuid import UUID

from tenure.core.reports.access import HeldKey, opened_by
from tenure.core.webhooks.webhook import Webhook
from tenure.storage.contract.store import Store


async def with_documents(store: Store, webhooks: Iterable[Webhook]) -> frozenset[UUID]:
    """Those that ask for documents, and whose creator may read them now: the operator, or a key."""
    asking = [one for one in webhooks if asks_for_documents(one)]
    creators = {one.asked.creator for one in asking if one.asked.creator is not None}
    ring = await store.find_keys(sorted(creators)) if creators else None
    held = {key.id: key for key in ring.held} if ring is not None else {}
    return frozenset(
        one.id for one in asking if one.asked.creator is None or _may_read(held.get(one.asked.creator), one)
    )


def asks_for_documents(webhook: Webhook) -> bool:
    """Whether it asks for more of a job than its events."""
    return webhook.asked.with_params or webhook.asked.with_result


def _may_read(key: HeldKey | None, webhook: Webhook) -> bool:
    return (
        key is not None
        and "read" in opened_by(key.scopes)
        and key.namespace in {None, webhook.asked.namespace}
    )
