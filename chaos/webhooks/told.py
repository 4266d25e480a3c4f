"""What a run knows of webhooks beside the store: what was asked for, and what came to the receivers."""

from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.reports.reading import Position
from tenure.core.webhooks.webhook import NewWebhook


class Hook(Struct, frozen=True, kw_only=True):
    """A webhook: what it asks for, behind which position, and since when if that was asked; its secrets.

    One that `rests` was paused while jobs were pruned: it is owed only what was kept until it was resumed.
    """

    asked: NewWebhook
    after: Position
    since: datetime | None = None
    secrets: list[str] = []
    rests: bool = False


class Received(Struct, frozen=True, kw_only=True):
    """A request as it came to a receiver, and the status that it was answered with; None for none.

    It is written down before it is answered. `hook` is None at a path that no webhook leads to.
    """

    hook: UUID | None
    headers: dict[str, str]
    body: str
    answered: int | None

    @property
    def message(self) -> str:
        """The id that the message came under."""
        return self.headers.get("webhook-id", "")

    @property
    def was_taken(self) -> bool:
        """Whether the receiver said that it has it."""
        return self.answered is not None and 200 <= self.answered < 300


class ReceivedLog:
    """Reads on in the files that receivers write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.requests: list[Received] = []

    def read(self) -> list[Received]:
        """All requests so far; a line that a killed receiver has not ended is none."""
        for path in sorted(self._folder.glob("received-*")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, end, _ = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + len(whole + end)
            self.requests += [_decode(line) for line in whole.splitlines() if _is_whole(line)]
        return self.requests


def _is_whole(line: bytes) -> bool:
    """Not what is left of a line before that of the next process."""
    return line.startswith(b"{") and line.endswith(b"}")


_decode = msgspec.json.Decoder(Received).decode
