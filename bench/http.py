"""Measure the HTTP server: `python -m bench.http`.

It runs `tenure api` as a process of its own on a PostgreSQL of the bench's and on SQLite at FULL, beside the
same server without storage. See docs/reference/benchmarks.md for what the rows mean.
"""

import sys

from bench import report
from bench.http_rows import ROWS
from bench.place import FULL, QUICK
from bench.program import Bench, end_in_order

BENCH = Bench("http", "Measure the HTTP server.", ROWS, report.HTTP)


def main(arguments: list[str]) -> int:
    """Measure what was asked for, or read what was measured before, and tell of it."""
    asked = BENCH.parser().parse_args(arguments)
    if asked.read:
        return BENCH.tell(asked, report.load_all(asked.read))
    size = QUICK if asked.quick else FULL
    return BENCH.tell(asked, BENCH.measure(size, asked.only, quick=asked.quick))


if __name__ == "__main__":
    end_in_order()
    sys.exit(main(sys.argv[1:]))
