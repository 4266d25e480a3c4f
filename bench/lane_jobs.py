"""The programs whose workers are held against rivals: one for each lane, with one job that leaves a stamp."""

from typing import Any

from bench.stamps import stamp
from tenure import Tenure

STAMP = "stamp"
LIMITED = "limited"
AT_ONCE = 20
"""How many jobs of the program with a concurrency limit may run at once, and of the one beside it."""


def program(kind: str, database: str | None = None) -> Tenure:
    """The program of a lane, or the one of the lane `async` whose definition has a concurrency limit."""
    made = Tenure(database)
    terms: dict[str, Any] = {"lane": kind}
    if kind == LIMITED:
        terms = {"lane": "async", "concurrency": AT_ONCE}
    if kind == "process":
        terms = {}
    made.job(STAMP, **terms)(_in_loop if terms.get("lane") == "async" else _in_process)
    return made


async def _in_loop(params: dict[str, str]) -> None:
    stamp(params["stamps"])


def _in_process(params: dict[str, str]) -> None:
    stamp(params["stamps"])


def __getattr__(name: str) -> Tenure:
    """`async_app`, `warm_app` and so on, made when a worker asks for it."""
    if not name.endswith("_app"):
        raise AttributeError(name)
    return program(name.removesuffix("_app"))
