"""How a request to a receiver ended."""

from typing import NamedTuple


class Answer(NamedTuple):
    """The status of an answer, or why there was none. `retry_after` is that header, as it came."""

    status: int | None
    problem: str | None = None
    retry_after: str | None = None
