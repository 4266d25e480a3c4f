"""`tenure doctor --mend`: asks, mends one thing after the other, and puts each into the audit log."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence

import click

from tenure.core.errors import InvalidInput
from tenure.core.reports.health import Symptom
from tenure.engine.health.repairs import Mended
from tenure.engine.health.stuck_jobs import MENDABLE
from tenure.surfaces.cli.changes import Changes, with_changes
from tenure.surfaces.cli.database import Parts

ACTION = "doctor mend"


def mendable(symptoms: Sequence[Symptom]) -> list[Symptom]:
    """What the store can mend by itself."""
    return [symptom for symptom in symptoms if symptom.kind in MENDABLE]


def is_sure(found: Sequence[Symptom]) -> bool:
    """Ask whether to mend these. Raises InvalidInput where nobody can be asked."""
    kinds = Counter(symptom.kind for symptom in found)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    if sys.stdin is None or not sys.stdin.isatty():
        problem = f"{listed} would be mended, and nobody can be asked: standard input is no terminal"
        raise InvalidInput("yes", problem, "give --yes, or leave out --mend to look only")
    for symptom in found:
        click.echo(f"{symptom.kind}: {symptom.what}", err=True)
    return click.confirm("Mend all of these, and what is like them?", err=True)


def mend_all(parts: Parts, database: str, *, deep: bool, on_mended: Callable[[Mended], None]) -> list[Mended]:
    """Mend all there is, each with an entry in the audit log; `on_mended` hears of each at once."""

    async def work(changes: Changes) -> list[Mended]:
        done: list[Mended] = []
        async for repair in changes.client.health.repairs(deep=deep):
            mended = await changes.make(
                ACTION, repair.target, repair.carry_out, done=lambda mended: mended.outcome
            )
            on_mended(mended)
            done.append(mended)
        return done

    return with_changes(parts, database, work)
