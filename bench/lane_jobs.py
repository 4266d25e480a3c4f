"""The programs whose workers are held against rivals: one for each lane, with one job that leaves a stamp."""

from typing import Any

from bench.stamps import stamp
from tenure import Tenure
from tenure.surfaces.library.definition import JobDefinition

LIMITED = "limited"
AT_ONCE = 20
"""How many jobs of the definition with a concurrency limit may run at once."""


def define(app: Tenure, kind: str) -> JobDefinition[Any, Any]:
    """The job of a lane, or the one of the lane `async` with a concurrency limit."""
    terms: dict[str, Any] = {} if kind == "process" else {"lane": kind}
    if kind == LIMITED:
        terms = {"lane": "async", "concurrency": AT_ONCE}
    return app.job("stamp", **terms)(_in_loop if terms.get("lane") == "async" else _in_process)


async def _in_loop(params: dict[str, str]) -> None:
    stamp(params["stamps"])


def _in_process(params: dict[str, str]) -> None:
    stamp(params["stamps"])


def __getattr__(name: str) -> Tenure:
    """`async_app`, `warm_app` and so on, made when a worker asks for it."""
    if not name.endswith("_app"):
        raise AttributeError(name)
    app = Tenure()
    define(app, name.removesuffix("_app"))
    return app
