"""Writes docs/reference/command-line.md: what every command says of itself when asked with --help."""

from collections.abc import Iterator
from pathlib import Path

import click

from tenure.surfaces.cli.commands import commands

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/reference/command-line.md"
WIDTH = 100

HEAD = """\
# The command line

Written by `make states` from the commands themselves; do not edit.

`python -m tenure` is the same as `tenure`. Times are in UTC. Colour is for terminals, unless `NO_COLOR` is
set. What jobs say may be anything; all that a terminal would take for more than text is printed as an escape.

`--json` prints the objects of the control API, each on one line, or indented on a terminal. `jobs list`
prints `{"items": [...], "nextCursor": ...}`, and the cursor is what `--after` takes. `jobs watch` and
`jobs logs` print an object for each change and each line; `jobs cancel`, `accept` and `replay` one for each
job. `enqueue --wait` prints one when the job is kept, and the whole job when it has ended.

| exit code | meaning |
|---|---|
| 0 | done; for `jobs watch` and `enqueue --wait`: the job succeeded |
| 1 | no such job, or it is not where the request makes sense; for those two: the job ended otherwise; a bug |
| 2 | wrong usage, a value that cannot be taken, a definition that is not registered, a bad setting |
| 3 | the database cannot be reached or used |
| 4 | `enqueue --wait`: the job has not ended within `--timeout`; it stays as it is |
| 6 | the database is not there, its schema is not this version's, or it was restored and cannot go on yet |
| 130 | interrupted |

`doctor` ends with 0 if no person is needed, and with 1 if one is.

An error is one line. Where an app cannot be imported its own traceback stands before that line.
"""


def page() -> str:
    """The reference page."""
    return HEAD + "".join(_section(ctx) for ctx in _contexts(commands, "tenure"))


def _contexts(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    ctx = click.Context(command, parent, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    yield ctx
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            if found is not None and not found.hidden:
                yield from _contexts(found, below, ctx)


def _section(ctx: click.Context) -> str:
    text = "\n".join(line.rstrip() for line in ctx.get_help().splitlines())
    return f"\n## {ctx.command_path}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
