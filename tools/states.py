"""Writes every file that is generated from the table of steps; with --check it only names the stale ones."""

import sys
from collections.abc import Callable
from pathlib import Path

from tenure.core.model.states import MEANING, STEPS, State
from tenure.storage.schema.guards import postgres_guard, sqlite_guard
from tools.dialects import dialects_page
from tools.tables import table

ROOT = Path(__file__).parent.parent

HEAD = """\
# The states of a job

Written from `src/tenure/core/model/states.py` by `make states`; do not edit.

A job is in exactly one state. Every change of state is a step of the table below, leaves an event in the
same transaction, and is refused by the database itself if the table does not have it. A final state is
final: to run a finished job again is to replay it, as a new job.
"""


def states_page() -> str:
    """The reference page: the states, the steps and the diagram."""
    return f"{HEAD}\n## States\n\n{_states()}\n## Steps\n\n{_steps()}\n## Diagram\n\n{_diagram()}"


GENERATED: dict[str, Callable[[], str]] = {
    "docs/reference/states.md": states_page,
    "docs/reference/dialects.md": dialects_page,
    "src/tenure/storage/postgres/migrations/0002_guard.sql": postgres_guard,
    "src/tenure/storage/sqlite/migrations/0002_guard.sql": sqlite_guard,
}


def stale(root: Path) -> list[str]:
    """The generated files that are missing or differ from what the table says now."""
    return [path for path, render in GENERATED.items() if _read(root / path) != render()]


def write(root: Path) -> None:
    """Bring every stale file up to date."""
    for path in stale(root):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(GENERATED[path](), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the files, or with --check answer 1 and name the stale ones."""
    if arguments == ["--check"]:
        names = stale(ROOT)
        for name in names:
            print(f"{name} is stale: run `make states`", file=sys.stderr)
        return 1 if names else 0
    if arguments:
        print("usage: python -m tools.states [--check]", file=sys.stderr)
        return 2
    write(ROOT)
    return 0


def _states() -> str:
    rows = (
        (f"`{state}`", MEANING[state], "yes" if state.is_final else "", "yes" if state.is_owned else "")
        for state in State
    )
    return table(("state", "meaning", "final", "owned by a worker"), rows)


def _steps() -> str:
    rows = (
        (
            f"`{step.source}`" if step.source else "–",
            f"`{step.target}`",
            f"`{step.event}`",
            step.by,
            step.when,
        )
        for step in STEPS
    )
    return table(("from", "to", "event", "by", "when"), rows)


def _diagram() -> str:
    """One arrow for each pair of states, with every event that takes it."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for step in STEPS:
        arrows.setdefault((step.source or "[*]", step.target), {})[step.event] = None
    for state in State:
        if state.is_final:
            arrows[state, "[*]"] = {}
    lines = [
        f"    {source} --> {target}" + (f": {', '.join(events)}" if events else "")
        for (source, target), events in arrows.items()
    ]
    return "\n".join(("```mermaid", "stateDiagram-v2", *lines, "```\n"))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
