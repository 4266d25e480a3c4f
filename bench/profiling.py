"""Where the time of the loop in Python goes: what stands between the product and its yardstick."""

import cProfile
import io
import pstats
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from bench.place import Place
from bench.postgres_loop import turns
from bench.rows import BATCH

TOP = 15
_FOLDERS = re.compile(
    r"/\S*/(?:site-packages|python3\.\d+)/|" + re.escape(f"{Path(__file__).parent.parent}/")
)


def profiles(at: Place) -> str:
    """The most expensive functions of both loops, as Markdown."""
    postgres, file = at.postgres.database("profile"), at.sqlite("FULL")
    postgres_turns, sqlite_turns = at.size.postgres_turns[BATCH], at.size.sqlite_turns[BATCH]
    postgres.stock(postgres_turns * BATCH)
    file.stock(sqlite_turns * BATCH)
    found = {
        "PostgreSQL": _profiled(lambda: turns(postgres, batch=BATCH, turns=postgres_turns)),
        "SQLite": _profiled(lambda: file.turns(batch=BATCH, turns=sqlite_turns)),
    }
    return "\n".join(f"## {name}: the loop in Python\n\n```\n{text}\n```\n" for name, text in found.items())


def _profiled(work: Callable[[], object]) -> str:
    """Profile the work and every thread that it starts: the writer of the SQLite store is one."""
    kept = [cProfile.Profile()]

    def profile_this_thread(*_: object) -> None:
        kept.append(cProfile.Profile())
        kept[-1].enable()

    # Since Python 3.12 there is one profile for all threads, and a second is refused.
    threading.setprofile(profile_this_thread if sys.version_info < (3, 12) else None)
    try:
        kept[0].runcall(work)
    finally:
        threading.setprofile(None)
    written = io.StringIO()
    stats = pstats.Stats(*kept, stream=written)
    stats.sort_stats("tottime").print_stats(TOP)
    return _FOLDERS.sub("", written.getvalue()).strip()
