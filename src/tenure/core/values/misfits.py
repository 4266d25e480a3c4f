"""JSON that does not fit a type of the user's code: what is wrong with it, and where."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tenure.core.errors import ParamsProblem
from tenure.core.values.leaves import AN_AWARE_ONE, is_naive, leaves
from tenure.core.values.pointers import pointer_to

MOST_PROBLEMS = 20
"""How many problems of one document are reported."""

_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


class Misfit(ValueError):
    """JSON that a type does not take; `problems` lists what is wrong, with pointers."""

    def __init__(self, problems: Sequence[ParamsProblem]) -> None:
        super().__init__(problems)
        self.problems = list(problems[:MOST_PROBLEMS])

    @classmethod
    def at(cls, path: Iterable[str | int], text: str) -> "Misfit":
        """A misfit with one problem."""
        return cls([ParamsProblem(pointer_to(path), text)])

    @classmethod
    def of(cls, error: msgspec.ValidationError) -> "Misfit":
        """What msgspec has found; it names the place at the end of its message."""
        found = _PLACE.match(str(error))
        if not found:
            return cls.at((), str(error))
        steps: Iterable[tuple[str, str]] = _STEP.findall(found[2])
        return cls.at((name or index for name, index in steps), found[1])

    def shown(self, what: str) -> str:
        """The problems in a line, each with its place in what is called so."""
        return "; ".join(f"{what}{pointer}: {text}" for pointer, text in self.problems)


def refuse_naive(value: Any) -> None:
    """Raise Misfit if plain containers hold a datetime without a time zone."""
    for path, leaf in leaves(value):
        if is_naive(leaf):
            raise Misfit.at(path, f"has no time zone; {AN_AWARE_ONE}")
