"""What a crash matrix has found: a row for each crash, and the table that a test prints."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from tenure.core.model.states import State
from tenure.core.values.failure import Failure

_LONGEST = 60


class CrashRun(Struct, frozen=True, kw_only=True):
    """What became of the job after one crash, compared with what becomes of it without."""

    number: int
    """Which of the job's frames it was: 1 is the first thing that it puts on record."""
    what: str
    """What the frame was for, such as `step fetch`."""
    side: str
    """`before` it was on record, or `after`, and before the handler heard of that."""
    starts: int
    """How often the handler began."""
    state: State
    """How the job ended."""
    error: Failure | None
    twice: dict[Hashable, int]
    """Effects that happened more often than without a crash, and how often."""
    never: list[Hashable]
    """Effects that happened less often."""
    other: list[Hashable]
    """Effects that do not happen at all without a crash."""
    result: Any
    is_result_right: bool

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.problems

    @property
    def problems(self) -> list[str]:
        """What is wrong with it, in words."""
        found = [f"{'TWICE' if n == 2 else f'{n} TIMES'} {_short(one)}" for one, n in self.twice.items()]
        found += [f"NEVER {_short(one)}" for one in self.never]
        found += [f"OTHER {_short(one)}" for one in self.other]
        if self.state is not State.SUCCEEDED:
            why = "" if self.error is None else f", by {self.error.kind}: {self.error.message:.200}"
            found.append(f"the job is {self.state}{why}")
        if not self.is_result_right:
            found.append(f"RESULT {_short(self.result)}")
        return found


class CrashMatrix:
    """All crashes of one job; `str()` is a table, to be printed."""

    def __init__(self, name: str, runs: Sequence[CrashRun], expected: Counter[Hashable], result: Any) -> None:
        self.name = name
        self.runs = tuple(runs)
        self.expected = expected
        """The effects without a crash, and how often each happens."""
        self.result = result
        """The job's result without a crash."""

    @property
    def clean(self) -> bool:
        """Whether every crash came to the same effects, a success, and the same result."""
        return not self.dirty

    @property
    def dirty(self) -> tuple[CrashRun, ...]:
        """The crashes that did not."""
        return tuple(run for run in self.runs if not run.clean)

    def __str__(self) -> str:
        """The table."""
        head = (
            f"crash matrix of {self.name}: {len(self.runs) // 2} points, {len(self.runs)} crashes, "
            f"{len(self.dirty) or 'none'} not clean"
        )
        effects = [f"{_short(one)}{f' ×{n}' if n > 1 else ''}" for one, n in self.expected.items()]
        usual = f"without a crash: {', '.join(effects) or 'no effects'}"
        rows = [("#", "crash", "", "starts", "effects")]
        rows += [
            (str(run.number), run.side, run.what, str(run.starts), "; ".join(run.problems) or "ok")
            for run in self.runs
        ]
        return "\n".join([head, usual, *_aligned(rows)])

    def __repr__(self) -> str:
        """A line, for a failing `assert matrix.clean`."""
        first = "".join(f": {run.side} {run.what}: {'; '.join(run.problems)}" for run in self.dirty[:1])
        return (
            f"<crash matrix of {self.name}, {len(self.dirty)} of {len(self.runs)} crashes not clean{first}>"
        )


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, *texts, starts, effects in rows:
        middle = "  ".join(text.ljust(width) for text, width in zip(texts, widths[1:-2], strict=True))
        yield f"{number.rjust(widths[0])}  {middle}  {starts.rjust(widths[-2])}  {effects}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
