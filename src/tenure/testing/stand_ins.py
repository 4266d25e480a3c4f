"""What runs in place of handlers: failures that a test has ordered, and functions that stand in."""

import inspect
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.model.lanes import COMMAND
from tenure.core.model.spec import Spec
from tenure.engine.client.registry import Registry
from tenure.execution.handler.handler import Handler
from tenure.execution.protocol.assignment import Assignment
from tenure.surfaces.library.signature import signature_of

Ordered = BaseException | type[BaseException]
"""An exception, or a class of which one is made without arguments."""


class StandIns:
    """The handlers of an app as a test wants them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._failures: defaultdict[tuple[str, int], deque[Ordered]] = defaultdict(deque)
        self._replaced: dict[tuple[str, int], Callable[[Any, Any], Any]] = {}

    def fail_next(self, spec: Spec, error: Ordered, times: int) -> None:
        """Have the next attempts raise this in place of the handler."""
        is_class = isinstance(error, type) and issubclass(error, BaseException)
        if not is_class and not isinstance(error, BaseException):
            raise InvalidInput("error", f"is {error!r:.64}", "give an exception, or a class of exceptions")
        self._failures[spec.key, spec.version].extend([error] * times)

    def replace(self, spec: Spec, function: Callable[..., Any]) -> None:
        """Have this function run in place of the handler."""
        if not callable(function):
            raise InvalidInput("function", f"is {function!r:.64}", "give a function that stands in")
        if not inspect.isfunction(function):  # a mock, a partial, a method
            self._replaced[spec.key, spec.version] = function
        else:
            self._replaced[spec.key, spec.version] = signature_of(function).adapt(function)

    def refuse_program(self, spec: Spec) -> None:
        """Raise TenureError for a program that nothing stands in for."""
        name = spec.key, spec.version
        if spec.lane == COMMAND and name not in self._replaced and not self._failures[name]:
            raise TenureError(
                f"{spec.key}@{spec.version} is a program, and a harness starts no processes: "
                f"call replace() with a function that stands in for it"
            )

    def handler_of(self, assignment: Assignment) -> Handler:
        """The handler of an attempt, or of a hook; ordered failures are used up."""
        name = assignment.definition, assignment.version
        handler = self._registry.handler(*name)
        if assignment.hook is not None:
            return handler
        if self._failures[name]:
            return Handler(_raising(self._failures[name].popleft()), handler.decode, handler.hooks)
        if name in self._replaced:
            return Handler(self._replaced[name], handler.decode, handler.hooks)
        return handler


def _raising(error: Ordered) -> Callable[..., Any]:
    def fail(_params: Any, _ctx: Any) -> None:
        raise error

    return fail
