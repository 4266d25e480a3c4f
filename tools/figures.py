"""Writes the table of speeds in docs/explanation/sqlite-or-postgresql.md, from the page of benchmarks."""

import re
from pathlib import Path

from tools.tables import table

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "explanation/sqlite-or-postgresql.md"
MEASURED = DOCS / "reference/benchmarks.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

ROWS = (
    (
        "a worker's turn in the store, 100 jobs settled and the next 100 claimed",
        "{}: loop in Python, 100 a batch",
    ),
    ("enqueueing in batches of 1,000", "{}: bulk enqueue"),
    ("enqueueing by 128 callers at once, one job at a time each", "{}: 128 callers, together"),
    ("a worker with four slots, a fresh process for every job", "{}: drain, 4 slots"),
)
"""What a reader calls it, and what the benchmarks do."""

SOON = (
    "from the call of `enqueue` to the handler's first line, worker idle, half of all",
    "start-latency-sqlite",
    "PostgreSQL: from the call of enqueue to the handler's first line, worker idle, p50",
)


def page(text: str, measured: str) -> str:
    """The page with the table as the benchmarks have it now."""
    rows = []
    for said, named in ROWS:
        sqlite = _measured(measured, named.format("SQLite"), named.format("SQLite at FULL"))
        rows.append(
            (said, f"{sqlite} a second", f"{_measured(measured, named.format('PostgreSQL'))} a second")
        )
    rows.append((SOON[0], _measured(measured, SOON[1]), _measured(measured, SOON[2])))
    whole = f"{BEGIN}\n\n{table(('', 'SQLite', 'PostgreSQL'), rows)}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: whole, text, flags=re.DOTALL)


def _measured(text: str, *names: str) -> str:
    for name in names:
        if found := re.search(rf"^\| {re.escape(name)} \| (.*?) \|", text, flags=re.MULTILINE):
            return found[1]
    raise LookupError(f"{MEASURED.name} has no row {names[0]}")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), MEASURED.read_text()))
