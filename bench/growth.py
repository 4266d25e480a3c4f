"""Measures whether speed stays as it is while things grow: `python -m bench.growth`, or `make bench-growth`.

Prints Markdown. Every row is a ratio: grown / small, in pairs, on a durable PostgreSQL of the bench's own. A
full run takes hours and 40 GB; `--waiting`, `--history` and so on set other sizes. See
docs/reference/benchmarks.md for what the rows mean.
"""

import argparse
import sys
from functools import partial

from bench import growth_chart, growth_sizes, report
from bench.cores_row import CORES, cores
from bench.figures import Report
from bench.goals import GROWTH_GOALS, growth_goal
from bench.growth_rows import Growth
from bench.growth_sizes import Sizes
from bench.place import FULL, QUICK
from bench.program import Bench, end_in_order
from bench.rows import Row


def rows_for(sizes: Sizes) -> dict[str, Row]:
    """All rows, with these sizes."""
    return {**Growth(sizes).rows, "cores": Row(partial(cores, sizes=sizes), 300)}


BENCH = Bench("growth", "Measure growth.", rows_for(Sizes()), report.GROWTH)


def main(arguments: list[str]) -> int:
    """Measure what was asked for, or read what was measured before, and tell of it."""
    asked = parser().parse_args(arguments)
    if asked.read:
        told = report.load_all(asked.read)
    else:
        bench = BENCH._replace(rows=rows_for(growth_sizes.asked_for(asked)))
        told = bench.measure(QUICK if asked.quick else FULL, asked.only, quick=asked.quick)
    code = BENCH._replace(section=section_of(told)).tell(asked, told)
    if asked.write_docs:
        growth_chart.write(told)
    return code


def parser() -> argparse.ArgumentParser:
    """The flags of every bench, and one for each series of sizes."""
    made = BENCH.parser()
    growth_sizes.add_options(made)
    return made


def section_of(told: Report) -> report.Section:
    """The part of the page, with a goal for each size that was measured."""
    goals = {name: growth_goal(name) for name in told.figures if name != CORES}
    return report.GROWTH._replace(goals=goals or GROWTH_GOALS)


if __name__ == "__main__":
    end_in_order()
    sys.exit(main(sys.argv[1:]))
