"""The chart of the bench of growth: jobs a second of each drain and each enqueue, from its JSON."""

from pathlib import Path

from bench.chart import Bar, drawn
from bench.figures import Report

DOCS = Path(__file__).parent.parent / "docs/reference"
KINDS = {
    "drain": "Drain, a worker's loop on PostgreSQL, jobs a second",
    "enqueue": "Enqueue a thousand a call on PostgreSQL, jobs a second",
}


def charts(told: Report) -> dict[str, str]:
    """Files by name: what has grown in green, and what it was held against in grey, row by row."""
    found: dict[str, list[Bar]] = {kind: [] for kind in KINDS}
    for measured in (each for row, each in told.rows.items() if row != "cores"):
        for place, speed in enumerate(measured.speeds):
            kind, _, size = speed.what.partition(", ")
            found[kind].append(Bar(size, speed.rate, _note(speed.rounds[0].jobs), is_ours=place % 2 == 0))
    return {f"growth-{kind}.svg": drawn(title, found[kind]) for kind, title in KINDS.items()}


def write(told: Report, folder: Path = DOCS) -> None:
    """Write the files."""
    for name, text in charts(told).items():
        (folder / name).write_text(text, encoding="utf-8")


def _note(jobs: int) -> str:
    return f"rounds of {jobs:,} jobs"
