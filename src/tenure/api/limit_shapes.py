"""Limits over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from tenure.core.model.limit import LimitUse
from tenure.core.values.bounds import LARGEST_LIMIT

Size = Annotated[int, Meta(ge=1, le=LARGEST_LIMIT)]


class LimitItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A limit and one of its keys: how many may run under it at once, and how many do.

    The key is empty if jobs bring none. `namespace` is the one whose jobs alone count under the key.
    `opensAt` is until when none starts, if the limit is closed.
    """

    name: str
    key: str
    namespace: str | None
    size: int
    held: int
    opens_at: datetime | None


class Limits(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of limits and keys, by name and key."""

    items: Sequence[LimitItem]
    next_cursor: str | None


class ResizeBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many may run at once, under each key of the limit."""

    size: Size


class LimitSize(Struct, frozen=True):
    """The size of a limit."""

    name: str
    size: int


def limit_item(use: LimitUse) -> LimitItem:
    """A limit as it is sent."""
    return LimitItem(
        name=use.name,
        key=use.plain_key,
        namespace=use.namespace,
        size=use.size,
        held=use.held,
        opens_at=use.opens_at,
    )
