"""libfaketime, which gives a process another time than the machine has: the system's, or Debian's package."""

import os
import shutil
from functools import cache
from pathlib import Path

from tests.debian import fetched

_PLACE = "usr/lib/*/faketime/libfaketime.so.1"


@cache
def library() -> Path:
    """Where it is: where `TENURE_TEST_FAKETIME` says, installed, or fetched."""
    if named := os.environ.get("TENURE_TEST_FAKETIME"):
        return Path(named)
    for found in sorted(Path("/").glob(_PLACE)):
        return found
    [found] = fetched("libfaketime").glob(_PLACE)
    return found


def copied(folder: Path) -> Path:
    """A copy that every user may read, also the account under which a server runs."""
    copy = Path(shutil.copy(library(), folder))
    copy.chmod(0o755)
    return copy
