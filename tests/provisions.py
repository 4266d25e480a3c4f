"""All that tests need and a machine may lack, brought before they begin: each in a line that says so.

A test that needs one of them brings it itself, too; but tests run side by side, where it is not seen.
"""

from collections.abc import Callable, Mapping

from tests import chromium, debian, faketime, node, pyright
from tests.postgres_versions import USUAL, binaries_of
from tests.storage.faults import pgbouncer

NEEDED: Mapping[str, Callable[[], object]] = {
    f"PostgreSQL {USUAL}": lambda: binaries_of(USUAL),
    "Chromium": chromium.program,
    "Node": node.program,
    "pyright": pyright.program,
    "pgbouncer": pgbouncer.program,
    "libfaketime": faketime.library,
    "promtool": lambda: debian.fetched("prometheus"),
    "openssl": lambda: debian.program("openssl", "openssl"),
    "curl": lambda: debian.program("curl", "curl"),
    "git": lambda: debian.program("git", "git"),
}


def bring(needed: Mapping[str, Callable[[], object]] = NEEDED) -> None:
    """Bring what is not here; what cannot be had is told, and fails those tests alone which need it."""
    for name, find in needed.items():
        try:
            find()
        except (RuntimeError, OSError) as error:
            print(f"== {name}: {error}", flush=True)
