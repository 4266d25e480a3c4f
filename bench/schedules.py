"""Measures schedules: `python -m bench.schedules`, or `make bench-schedules`.

Prints Markdown. `tenure scheduler` and `tenure worker` run as processes of their own, on a durable PostgreSQL
of the bench's and on SQLite at FULL. See docs/reference/benchmarks.md for what the rows mean.
"""

import sys

from bench import report
from bench.program import Bench, end_in_order
from bench.schedule_rows import ROWS

BENCH = Bench("schedules", "Measure schedules.", ROWS, report.SCHEDULES)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
