"""The result of a job as a value of the type that its function returns."""

import inspect
import json
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tenure.core.errors import ResultMismatch
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.reports.results import no_result
from tenure.core.values.misfits import Misfit
from tenure.surfaces.library.type_readers import UNREADABLE, Read, Shape, cause_of, reader_of

_AS_THEY_ARE = (Any, object)
"""Return types that say nothing: results are plain values then."""


def typed_result(job: Job, function: Callable[..., Any] | None) -> Any:
    """What a job's handler returned; without a result, raises the error that fits the job's state.

    Without a function, or if it declares no return type, the result is plain values. Raises ResultMismatch if
    it does not fit the type.
    """
    if job.state is not State.SUCCEEDED:
        raise no_result(job.state, job.id, job.definition, job.error)
    text = "null" if job.result is None else job.result
    try:
        read = json.loads if function is None else _reader(function)
        return read(text)
    except Misfit as misfit:
        raise ResultMismatch(job.id, job.definition, misfit.shown("result")) from None
    except UNREADABLE as error:
        problem = f"its return type cannot be read from JSON: {cause_of(error)}"
        raise ResultMismatch(job.id, job.definition, problem) from None


@lru_cache(maxsize=1024)
def _reader(function: Callable[..., Any]) -> Read:
    """The reader of a function's return type, made on first use: types may be imported after the function."""
    annotations = getattr(function, "__annotations__", {})
    hint = _resolved(function, annotations["return"]) if "return" in annotations else Any
    return json.loads if hint in _AS_THEY_ARE else reader_of(Shape.of(hint))


def _resolved(function: Callable[..., Any], hint: Any) -> Any:
    def stub() -> None: ...

    stub.__annotations__ = {"return": hint}
    written = inspect.unwrap(function)
    return typing.get_type_hints(stub, getattr(written, "__globals__", {}), include_extras=True)["return"]
