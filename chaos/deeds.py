"""What the steps of handlers did to the world: a file outside the database, one line each time one ran."""

from pathlib import Path
from uuid import UUID

import msgspec

from chaos import ledger


class Deed(msgspec.Struct, frozen=True, gc=False):
    """A step that ran, under the fence of its attempt."""

    job: UUID
    step: str
    fence: int


def path_beside(of_ledger: str | Path) -> Path:
    """Where deeds are written, beside a ledger."""
    return Path(of_ledger).with_name("deeds")


def write(of_ledger: str, job: UUID, step: str, fence: int) -> str:
    """Append a line; returns the step, as a result."""
    ledger.append(str(path_beside(of_ledger)), msgspec.json.encode(Deed(job, step, fence)))
    return step


def read(of_ledger: Path) -> list[Deed]:
    """Every deed in the order of writing, but for a last line that is not whole."""
    path = path_beside(of_ledger)
    if not path.exists():
        return []
    return msgspec.json.Decoder(Deed).decode_lines(path.read_bytes().rpartition(b"\n")[0])
