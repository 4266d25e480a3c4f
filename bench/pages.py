"""Measure the dashboard's pages over a million jobs, and the API's reads: `python -m bench.pages`.

It runs `tenure api` as a process of its own on a PostgreSQL of the bench's and on SQLite. See
docs/reference/benchmarks.md for what the figures mean.
"""

import sys

from bench import report
from bench.pages_rows import ROWS
from bench.program import Bench, end_in_order

BENCH = Bench("pages", "Measure pages over a million jobs.", ROWS, report.PAGES)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
