"""What a worker did with messages, line by line: got one, was led to a job by one, removed one."""

from pathlib import Path
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

VARIABLE = "CHAOS_PASSAGES"
"""Where a worker writes them, if it is to."""


class Passage(Struct, frozen=True, kw_only=True):
    """One of them, by CLOCK_MONOTONIC: when it was got, when the claim was answered, before it was removed.

    `process` is whose; `receipt` is that of the message, `fence` that of the claim to which it led.
    """

    kind: Literal["got", "led", "removed"]
    process: str
    at: float
    job: UUID
    receipt: str = ""
    fence: int = 0


def read(path: Path) -> list[Passage]:
    """All whole lines of a file."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return list(msgspec.json.Decoder(Passage).decode_lines(whole))
