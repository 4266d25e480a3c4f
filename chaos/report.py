"""What came of runs, kept as lines of JSON, and the tables in the documentation that are made of them."""

import os
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from chaos import counts, failpoints
from chaos.campaign import Result
from chaos.counters import MEANING
from chaos.faults import FAULTS
from chaos.faults.fault import Fault
from chaos.recovery import percentile

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/reference/chaos.md"
_DIRTY, _UNKNOWN = "-dirty", "unknown"
BEGIN, END = "<!-- chaos: begin -->", "<!-- chaos: end -->"


class Line(Struct, frozen=True):
    """A run, and of what commit it was."""

    commit: str
    result: Result


def append(result: Result, path: Path) -> None:
    """Add a run to a file."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(Line(_commit(), result)) + b"\n")


def load(*paths: Path) -> list[Line]:
    """Every run of some files, once: one may hold what was copied from another."""
    lines = dict.fromkeys(line for path in paths for line in path.read_bytes().splitlines() if line)
    return [msgspec.json.decode(line, type=Line) for line in lines]


def of_this_commit(path: Path) -> list[Result]:
    """The runs of a file that were made with the code as it is; none without the file.

    None of code that is in no commit, either: it may have been other code, under the same name.
    """
    if not path.exists() or (commit := _commit()).endswith((_DIRTY, _UNKNOWN)):
        return []
    return [line.result for line in load(path) if line.commit == commit]


def markdown(lines: Sequence[Line]) -> str:
    """The runs as tables: by fault, by failpoint, and how often the hard spots were hit."""
    results = [line.result for line in lines]
    commits = ", ".join(dict.fromkeys(line.commit for line in lines))
    seeds = sorted({result.setup.seed for result in results})
    bad = sum(not result.is_good for result in results)
    jobs = sum(result.jobs for result in results)
    leases = sorted({f"{result.setup.lease:g}" for result in results})
    intro = (
        f"{len(results)} runs with {jobs:,} jobs, seeds {seeds[0]} to {seeds[-1]}, commit {commits}; {bad}"
        f" of them bad. Leases of {' or '.join(leases)} s, {os.cpu_count()} processors, Python"
        f" {platform.python_version()}.\n"
    )
    wanting = ", ".join(f"{name} {times}" for name, times in counts.missing(counts.goals(), results).items())
    counted = f"Of the counts that `make chaos-counts` is after, {wanting or 'none'} is wanting.\n"
    faults = [_fault_row(fault, results) for fault in FAULTS.values()]
    head = (
        "",
        "fault",
        "SQLite",
        "PostgreSQL",
        "bad runs",
        "taken back, p50 / p99",
        "claimed again, p50 / p99",
    )
    hits = [
        (name, f"`{place.target.split()[0]}`", *_hits(name, results))
        for name, place in failpoints.PLACES.items()
    ]
    counters = [
        (meaning, str(sum(result.counters.get(name, 0) for result in results)))
        for name, meaning in MEANING.items()
    ]
    return "\n".join(
        [
            intro,
            counted,
            _table(head, [row for row in faults if row is not None]),
            _table(("killed at", "function", "SQLite", "PostgreSQL", "bad runs"), hits),
            _table(("hard spots", "hit"), counters),
        ]
    )


def write_page(lines: Sequence[Line], page: Path = PAGE) -> None:
    """Put the tables between the markers of the page."""
    between = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?=^{re.escape(END)}$)", re.DOTALL | re.MULTILINE)
    text, replaced = between.subn(lambda _: f"\n{markdown(lines)}\n", page.read_text(encoding="utf-8"))
    if replaced != 1:
        raise ValueError(f"{page} must have the lines {BEGIN} and {END} once")
    page.write_text(text, encoding="utf-8")


def _fault_row(fault: Fault, results: Sequence[Result]) -> tuple[str, ...] | None:
    struck = [result for result in results if any(strike.fault == fault.name for strike in result.strikes)]
    if not struck:
        return None
    counts = {
        store: sum(
            strike.fault == fault.name
            for result in struck
            if result.setup.store == store
            for strike in result.strikes
        )
        for store in ("sqlite", "postgres")
    }
    gaps = [gap for result in struck for gap in result.recoveries.get(fault.name, [])]
    return (
        fault.number,
        fault.what,
        *(str(counts[store]) if store in fault.stores else "–" for store in ("sqlite", "postgres")),
        str(sum(not result.is_good for result in struck)),
        _spread([gap.taken_back for gap in gaps]),
        _spread([gap.claimed for gap in gaps]),
    )


def _hits(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    """How often somebody was killed at a step, by store, and in how many bad runs."""
    by_store: Counter[str] = Counter()
    bad = 0
    for result in results:
        hits = sum(strike.fault == "step" and strike.what == name for strike in result.strikes)
        by_store[result.setup.store] += hits
        bad += bool(hits) and not result.is_good
    return (*(str(by_store[store]) for store in ("sqlite", "postgres")), str(bad))


def _spread(times: Iterable[float | None]) -> str:
    known = [time for time in times if time is not None]
    median, worst = percentile(known, 0.5), percentile(known, 0.99)
    return "" if median is None or worst is None else f"{median:.2f} / {worst:.2f} s ({len(known)})"


def _commit() -> str:
    try:
        return subprocess.check_output(
            ["git", "describe", "--always", f"--dirty={_DIRTY}"],
            cwd=ROOT,
            text=True,
            stderr=subprocess.DEVNULL,
        ).strip()
    except (OSError, subprocess.CalledProcessError):
        return _UNKNOWN


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
