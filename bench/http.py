"""Measure the HTTP server: `python -m bench.http`.

It runs `tenure api` as a process of its own on a PostgreSQL of the bench's and on SQLite at FULL, beside the
same server without storage. See docs/reference/benchmarks.md for what the rows mean.
"""

import sys

from bench import report
from bench.http_rows import ROWS
from bench.program import Bench, end_in_order

BENCH = Bench("http", "Measure the HTTP server.", ROWS, report.HTTP)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
