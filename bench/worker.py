"""Measures the worker: `python -m bench.worker`, or `make bench-worker`.

Prints Markdown. The worker is the command `tenure worker`, as a process of its own, on a durable PostgreSQL
of the bench's and on SQLite at FULL. See docs/reference/benchmarks.md for what the rows mean.
"""

import sys

from bench import report
from bench.program import Bench, end_in_order
from bench.worker_rows import ROWS

BENCH = Bench("worker", "Measure the worker.", ROWS, report.WORKER)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
