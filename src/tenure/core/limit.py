"""Limits on how many jobs may run at once, and how far they are used."""

from msgspec import Struct

from tenure.core.bounds import LARGEST_LIMIT, named, printable, whole


class Limit(Struct, frozen=True, order=True):
    """At most `size` jobs at once, for each key apart.

    The size belongs to the name: the first job that brings the name sets it, `set_limit` changes it for all
    keys.
    """

    name: str
    key: str = ""
    size: int = 1

    def __post_init__(self) -> None:
        named("limit", self.name)
        printable("limit.key", self.key)
        whole("limit.size", self.size, 1, LARGEST_LIMIT)


class LimitUse(Struct, frozen=True):
    """A limit and how many jobs run under it now."""

    name: str
    key: str
    size: int
    held: int
