"""Measures messages that lead workers to jobs: `python -m bench.messages`, or `make bench-messages`.

Prints Markdown. The broker is moto's server of SQS's protocol, a single process in Python: what is measured
is its pace more than anything else's. See docs/how-to/sqs.md for what that says.
"""

import sys

from bench import report
from bench.message_rows import ROWS
from bench.program import Bench, end_in_order

BENCH = Bench("messages", "Measure messages that lead workers to jobs.", ROWS, report.MESSAGES)

if __name__ == "__main__":
    end_in_order()
    sys.exit(BENCH.run(sys.argv[1:]))
