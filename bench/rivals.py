"""Measures the product beside its rivals: `python -m bench.rivals`, after `python -m bench.rivals --setup`.

Prints Markdown; with `--write-docs`, the tables of docs/reference/benchmarks.md and of the README and the
chart there are written from the figures. See docs/reference/benchmarks.md for what the rows mean.
"""

import argparse
import sys

from msgspec.structs import replace

from bench import report, rivals_report
from bench.peers import PeerUnavailable, installing
from bench.place import FULL, QUICK
from bench.program import Bench, end_in_order
from bench.rivals_rows import LONG_ROWS, ROWS

REDIS = "redis"
BENCH = Bench(
    "rivals", "Measure the product beside its rivals.", {**ROWS, **LONG_ROWS}, rivals_report.SECTION
)


def main(arguments: list[str]) -> int:
    """Set up, measure what was asked for, or read what was measured before, and tell of it."""
    asked = _parser().parse_args(arguments)
    if asked.setup is not None:
        return set_up(asked.setup or [REDIS, *installing.environments()])
    if asked.read:
        told = report.load_all(asked.read)
    else:
        chosen = [*(asked.only or ()), *asked.rows] or list(ROWS)
        measured = BENCH.measure(QUICK if asked.quick else FULL, chosen, quick=asked.quick)
        told = replace(measured, machine={**measured.machine, "rivals": rivals_report.versions()})
    print(rivals_report.markdown(told))
    if asked.json:
        report.save(told, asked.json)
    if asked.write_docs:
        try:
            rivals_report.write(told)
        except ValueError as error:
            print(f"nothing was written: {error}", file=sys.stderr)
            return 2
    lines, good = report.check(told, BENCH.section)
    if asked.check:
        print("\n".join(lines))
        return 0 if good else 1
    return 1 if told.failures else 0


def set_up(names: list[str]) -> int:
    """Install rivals one after another; one that cannot be had is told of and keeps none from the others."""
    failed = False
    for name in names:
        try:
            if name == REDIS:
                installing.install_redis()
            else:
                installing.install(name)
            print(f"{name}: here")
        except PeerUnavailable as error:
            failed = True
            print(f"{name}: {error}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = BENCH.parser()
    parser.add_argument(
        "--setup",
        nargs="*",
        choices=[REDIS, *installing.environments()],
        metavar="NAME",
        help=f"install rivals, or those that are named, into {installing.VARIABLE} or the user's caches",
    )
    parser.add_argument(
        "--rows",
        type=rows,
        default=[],
        metavar="ROW,...",
        help=f"rows, or all that begin with async, warm and so on; {', '.join(LONG_ROWS)} must be asked for",
    )
    return parser


def rows(text: str) -> list[str]:
    """The rows that words with commas between them name, by name or by how they begin."""
    chosen = []
    for word in text.split(","):
        found = [row for row in BENCH.rows if row == word or row.startswith(f"{word}-")]
        if not found:
            raise argparse.ArgumentTypeError(f"there is no row {word!r}; rows are {', '.join(BENCH.rows)}")
        chosen += found
    return chosen


if __name__ == "__main__":
    end_in_order()
    sys.exit(main(sys.argv[1:]))
