"""JSON pointers, as errors show them."""

from collections.abc import Iterable

_LONGEST_NAME = 64


def pointer_to(path: Iterable[str | int]) -> str:
    """The JSON pointer for a path, with long names cut."""
    names = (str(step)[:_LONGEST_NAME].replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{name}" for name in names)
