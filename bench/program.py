"""What every bench does with its rows: measure them, tell of them, hold them against their goals."""

import argparse
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench import report
from bench.figures import Measured, Report
from bench.place import FULL, QUICK, Place, Size
from bench.rows import Row


class Bench(NamedTuple):
    """One program: its name after `bench.`, what it does, its rows, and its part of the page."""

    name: str
    about: str
    rows: Mapping[str, Row]
    section: report.Section

    def parser(self) -> argparse.ArgumentParser:
        """The flags that every bench has."""
        parser = argparse.ArgumentParser(prog=f"python -m bench.{self.name}", description=self.about)
        parser.add_argument("--quick", action="store_true", help="a short run, to see that the program works")
        parser.add_argument(
            "--only", action="append", choices=self.rows, metavar="ROW", help=f"one of {', '.join(self.rows)}"
        )
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures")
        parser.add_argument(
            "--read",
            action="append",
            type=Path,
            metavar="FILE",
            help="measure nothing, take the figures of a file, or of several together",
        )
        parser.add_argument(
            "--write-docs", action="store_true", help="put the tables into docs/reference/benchmarks.md"
        )
        parser.add_argument(
            "--check", action="store_true", help="targets beside figures; exit 1 below a must"
        )
        return parser

    def run(self, arguments: list[str]) -> int:
        """Measure what was asked for, or read what was measured before, and tell of it."""
        asked = self.parser().parse_args(arguments)
        if asked.read:
            return self.tell(asked, report.load_all(asked.read))
        size = QUICK if asked.quick else FULL
        return self.tell(asked, self.measure(size, asked.only, quick=asked.quick))

    def tell(self, asked: argparse.Namespace, told: Report) -> int:
        """Print a run, keep it where that was asked for, and answer with the exit code."""
        print(report.markdown(told, self.section))
        if asked.json:
            report.save(told, asked.json)
        if asked.write_docs:
            report.write_page(told, section=self.section)
        lines, good = report.check(told, self.section)
        if asked.check:
            print("\n".join(lines))
            return 0 if good else 1
        return 1 if told.failures else 0

    def measure(
        self, size: Size, rows: list[str] | None, *, quick: bool, seconds: float | None = None
    ) -> Report:
        """Run rows one after another. One that fails is told of and does not keep the others from running.

        `seconds` is what each row may take, where that is not what the row says itself.
        """
        began = time.monotonic()
        found: dict[str, Measured] = {}
        failures: dict[str, str] = {}
        at = Place(size)
        try:
            for name in rows or self.rows:
                print(f"{time.monotonic() - began:4.0f} s  {name}", file=sys.stderr, flush=True)
                at.allow(seconds or self.rows[name].seconds)
                try:
                    found[name] = self.rows[name].measure(at)
                except Exception as error:
                    failures[name] = f"{type(error).__name__}: {error}"
            machine = at.description()
        finally:
            at.close()
        return Report(
            machine=machine, quick=quick, seconds=time.monotonic() - began, rows=found, failures=failures
        )


def end_in_order() -> None:
    """Leave at SIGTERM as after Ctrl-C: what was started is ended on the way out."""
    signal.signal(signal.SIGTERM, _end)


def _end(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
