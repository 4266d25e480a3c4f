"""Measures webhooks: `python -m bench.webhooks`, or `make bench-webhooks`.

Prints Markdown. `tenure scheduler` and `tenure worker` run as processes of their own; the receiver is in
this one.
"""

import sys

from bench import report
from bench.program import Bench, end_in_order
from bench.webhook_rows import ROWS

BENCH = Bench("webhooks", "Measure webhooks.", ROWS, report.WEBHOOKS)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
