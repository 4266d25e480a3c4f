"""Measures the storage layer: `python -m bench.storage`, or `make bench-storage`.

Prints Markdown. All speeds are compared side by side in one run, so that what is told is a ratio and not the
machine. See docs/reference/benchmarks.md for what the rows mean.
"""

import argparse
import signal
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from bench import report
from bench.figures import Measured, Report
from bench.place import FULL, QUICK, Place, Size
from bench.profiling import profiles
from bench.rows import ROWS

FIVE_MILLION = 5_000_000
SECONDS_FOR_FIVE_MILLION = 600


def main(arguments: list[str]) -> int:
    """Measure what was asked for, or read what was measured before, and tell of it."""
    asked = _parser().parse_args(arguments)
    if asked.read:
        told = report.load(asked.read)
    else:
        size = QUICK if asked.quick else FULL
        if asked.five_million:
            size = replace(size, backlogs=(*size.backlogs, FIVE_MILLION))
        if asked.profile:
            return _profile(size)
        told = measure(size, asked.only or list(ROWS), quick=asked.quick)
    print(report.markdown(told))
    if asked.json:
        report.save(told, asked.json)
    if asked.write_docs:
        report.write_page(told)
    lines, good = report.check(told)
    if asked.check:
        print("\n".join(lines))
        return 0 if good else 1
    return 1 if told.failures else 0


def measure(size: Size, rows: list[str], *, quick: bool) -> Report:
    """Run rows one after another. One that fails is told of and does not keep the others from running."""
    began = time.monotonic()
    found: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    at = Place(size)
    try:
        for name in rows:
            print(f"{time.monotonic() - began:4.0f} s  {name}", file=sys.stderr, flush=True)
            at.allow(SECONDS_FOR_FIVE_MILLION if FIVE_MILLION in size.backlogs else ROWS[name].seconds)
            try:
                found[name] = ROWS[name].measure(at)
            except Exception as error:
                failures[name] = f"{type(error).__name__}: {error}"
        machine = at.description()
    finally:
        at.close()
    seconds = time.monotonic() - began
    return Report(machine=machine, quick=quick, seconds=seconds, rows=found, failures=failures)


def _profile(size: Size) -> int:
    at = Place(size)
    try:
        print(profiles(at))
    finally:
        at.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description="Measure the storage layer.")
    parser.add_argument("--quick", action="store_true", help="a short run, to see that the program works")
    parser.add_argument(
        "--only", action="append", choices=ROWS, metavar="ROW", help=f"one of {', '.join(ROWS)}"
    )
    parser.add_argument("--five-million", action="store_true", help="a backlog of five million, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures")
    parser.add_argument(
        "--read", type=Path, metavar="FILE", help="measure nothing, take the figures of a file"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="put the tables into docs/reference/benchmarks.md"
    )
    parser.add_argument("--check", action="store_true", help="targets beside figures; exit 1 below a must")
    parser.add_argument(
        "--profile", action="store_true", help="instead: what the loops in Python spend time on"
    )
    return parser


def _end(_signal: int, _frame: object) -> None:
    """Leave as after Ctrl-C: what was started is ended on the way out."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main(sys.argv[1:]))
