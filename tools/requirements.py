"""Writes docs/reference/requirements.md: which tests prove which requirement, as their docstrings say."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/reference/requirements.md"

NUMBER = re.compile(r"\b(?:S[0-4]\.\d+|C\d+)\b")
POINTS = {"S0": 79, "S1": 83, "S2": 62, "S3": 67, "S4": 42}
"""How many points each part has."""

HEAD = """\
# Requirements and the tests that prove them

Written by `make states` from the docstrings of the tests; do not edit. A requirement has a number,
`S<part>.<point>`, and a test names the numbers of what it proves; `C<number>` is a decision between points
that contradict each other. Points that no test can prove, such as reasons and non-goals, stand in
[requirements-notes.md](requirements-notes.md). Every point is in one of the two.

| requirement | tests |
|---|---|
"""


class Claim(NamedTuple):
    """A test and what its docstring says."""

    path: str
    name: str
    docstring: str

    @property
    def numbers(self) -> list[str]:
        """The requirement numbers in the docstring, as often as they stand there."""
        return [found[0] for found in NUMBER.finditer(self.docstring)]


@cache
def claims() -> tuple[Claim, ...]:
    """Every test function and test class below tests/, with its docstring."""
    return tuple(_claims())


def _claims() -> Iterator[Claim]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and re.match(
                r"test_|Test", node.name
            ):
                yield Claim(path.relative_to(ROOT).as_posix(), node.name, ast.get_docstring(node) or "")


def render() -> str:
    """The page as it should be now."""
    proofs: dict[str, set[Claim]] = {}
    for claim in claims():
        for number in claim.numbers:
            proofs.setdefault(number, set()).add(claim)
    return HEAD + "".join(_row(number, proofs[number]) for number in sorted(proofs, key=_in_order))


def _row(number: str, proofs: set[Claim]) -> str:
    tests = sorted(f"[`{claim.name}`](../../{claim.path})" for claim in proofs)
    return f"| {number} | {'<br>'.join(tests)} |\n"


def every_point() -> list[str]:
    """The numbers of all points, in order."""
    return [f"{part}.{point}" for part, points in POINTS.items() for point in range(1, points + 1)]


def _in_order(number: str) -> tuple[int, ...]:
    """Points by part and number, then decisions."""
    kind, rest = number[0], number[1:]
    return (kind == "C", *map(int, rest.split(".")))


if __name__ == "__main__":
    PAGE.write_text(render())
