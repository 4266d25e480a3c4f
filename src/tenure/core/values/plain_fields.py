"""Records that web frameworks can answer with."""

from collections.abc import Iterator

import msgspec


class PlainFields:
    """A record that is iterated as its fields, with values as JSON has them, so that `dict(record)` is JSON.

    FastAPI and others write what they do not know as `dict(value)`.
    """

    __slots__ = ()
    __struct_fields__: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, object]]:
        return ((name, msgspec.to_builtins(getattr(self, name))) for name in self.__struct_fields__)
