"""The page about the dialects, and how each of them shows a step of the core.

Whether a step is legal there is decided here, once, for the page and for the test that demands it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from tenure.api.dialects.dialect import CoreStep, Dialect, Move
from tenure.api.dialects.intent import INTENT
from tenure.api.dialects.known import DIALECTS
from tenure.core.model.states import STEPS, State, Step
from tools.tables import table

StepKind = Literal["no change", "move", "detour", "foreign"]

HEAD = """\
# The words of other descriptions

Written from `src/tenure/api/dialects/` by `make states`; do not edit.

A job has [one set of states](states.md). Callers may also see it in the words of five other descriptions:
`vocabulary` asks for one of them by its name, as [the HTTP server](http.md) says. Each has its own words and
its own legal moves. Every step of the core is, in each of them, one of four things: no change of words; a
legal move; a detour, which is shown as several legal moves, with the words in between as `throughWords`; or
foreign, which the description does not have and which is shown nevertheless, for the reason given here. A
test demands that of every step.
"""

WORDS = """\
## Words

`/jobs` shows its clients less than any of them, in its own words. In brackets is the word for a job that was
claimed before.
"""


def dialects_page() -> str:
    """The reference page: all words, and of each dialect its moves, detours, foreign steps and fields."""
    parts = (_about(dialect) for dialect in DIALECTS.values())
    return "\n".join((HEAD, WORDS, _words(), *parts))


def ways() -> Iterator[tuple[Step, bool]]:
    """Every step that a job can take, with whether it had been claimed before: both, where both can be."""
    known: set[tuple[State | None, bool]] = {(None, False)}
    waiting = list(known)
    while waiting:
        state, was_claimed = waiting.pop()
        for step in STEPS:
            if step.source is state:
                yield step, was_claimed
                after = (step.target, _is_claimed(step, was_claimed))
                if after not in known:
                    known.add(after)
                    waiting.append(after)


def classify(dialect: Dialect, step: Step, *, was_claimed: bool) -> StepKind | None:
    """How a dialect shows a step; None if it is neither legal nor declared."""
    taken = CoreStep(step.source, step.event, step.target)
    source = None if step.source is None else dialect.word_at(step.source, was_claimed=was_claimed)
    target = dialect.word_at(step.target, was_claimed=_is_claimed(step, was_claimed))
    detour = dialect.detour_of(taken)
    if step.source is not None and source == target:
        return "no change"
    if _are_moves(dialect, step, (source, target)):
        return "move"
    if detour is not None and _are_moves(dialect, step, (source, *detour.through, target)):
        return "detour"
    return "foreign" if dialect.foreign_of(taken) else None


def _is_claimed(step: Step, was_claimed: bool) -> bool:
    return was_claimed or step.target is State.RUNNING


def _are_moves(dialect: Dialect, step: Step, words: tuple[str | None, ...]) -> bool:
    """Whether each word leads to the next by a legal move, which the API may make if this is the API's."""
    if step.by == "api" and dialect.set_by_api is not None and words[-1] not in dialect.set_by_api:
        return False
    return all(
        target is not None and Move(source, target) in dialect.moves for source, target in pairwise(words)
    )


def _words() -> str:
    head = ("state", *(f"`{name}`" for name in DIALECTS), "`/jobs`")
    rows = (
        (f"`{state}`", *(_word(dialect, state) for dialect in DIALECTS.values()), INTENT[state])
        for state in State
    )
    return table(head, rows)


def _word(dialect: Dialect, state: State) -> str:
    first, again = (dialect.word_at(state, was_claimed=was_claimed) for was_claimed in (False, True))
    return (first or "–") if first == again else f"{first} ({again})"


def _about(dialect: Dialect) -> str:
    moves = ", ".join(f"{move.source or '·'} → {move.target}" for move in dialect.moves)
    parts = [f"## `{dialect.name}`\n", f"Legal moves, from · a new job: {moves}.\n"]
    if dialect.set_by_api is not None:
        parts.append(f"The API leads to nothing but {', '.join(sorted(dialect.set_by_api))}.\n")
    parts += [table(("step", "shown as", "because"), _exceptions(dialect))]
    fields = ", ".join(f"`{own}` is `{theirs}`" for own, theirs in dialect.fields.items())
    return "\n".join((*parts, f"Of the fields, {fields}.\n"))


def _exceptions(dialect: Dialect) -> Iterator[tuple[str, ...]]:
    for detour in dialect.detours:
        yield _steps(detour.steps), f"through {', '.join(detour.through)}", detour.why
    for foreign in dialect.foreign:
        yield _steps(foreign.steps), "foreign", foreign.why


def _steps(steps: tuple[CoreStep, ...]) -> str:
    return "<br>".join(
        f"{f'`{taken.source}`' if taken.source else '–'} → `{taken.target}` (`{taken.event}`)"
        for taken in steps
    )
