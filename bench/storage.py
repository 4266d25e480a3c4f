"""Measures the storage layer: `python -m bench.storage`, or `make bench-storage`.

Prints Markdown. All speeds are compared side by side in one run, so that what is told is a ratio and not the
machine. See docs/reference/benchmarks.md for what the rows mean.
"""

import sys

from msgspec.structs import replace

from bench import report
from bench.place import FULL, QUICK, Place, Size
from bench.profiling import profiles
from bench.program import Bench, end_in_order
from bench.rows import ROWS

FIVE_MILLION = 5_000_000
SECONDS_FOR_FIVE_MILLION = 600
BENCH = Bench("storage", "Measure the storage layer.", ROWS, report.STORAGE)


def main(arguments: list[str]) -> int:
    """Measure what was asked for, or read what was measured before, and tell of it."""
    parser = BENCH.parser()
    parser.add_argument("--five-million", action="store_true", help="a backlog of five million, too")
    parser.add_argument(
        "--profile", action="store_true", help="instead: what the loops in Python spend time on"
    )
    asked = parser.parse_args(arguments)
    if asked.read:
        return BENCH.tell(asked, report.load_all(asked.read))
    size, seconds = QUICK if asked.quick else FULL, None
    if asked.five_million:
        size = replace(size, backlogs=(*size.backlogs, FIVE_MILLION))
        seconds = SECONDS_FOR_FIVE_MILLION
    if asked.profile:
        return _profile(size)
    return BENCH.tell(asked, BENCH.measure(size, asked.only, quick=asked.quick, seconds=seconds))


def _profile(size: Size) -> int:
    at = Place(size)
    try:
        print(profiles(at))
    finally:
        at.close()
    return 0


if __name__ == "__main__":
    end_in_order()
    sys.exit(main(sys.argv[1:]))
