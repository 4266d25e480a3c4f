"""Hooks for schemathesis: what to leave out, and a check of problems by kind."""

import unicodedata
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

from tenure.surfaces.http.calls.table import ROUTES

OWN = {f"{route.method} {route.path}": route.problems for route in ROUTES}
A_FLOAT = "Expected `int`, got `float`"
"""1.0 is a whole number to JSON Schema, which knows no spelling; to us it is none: row 22 of the inputs."""


@schemathesis.hook
def filter_case(_context: schemathesis.HookContext, case: Case[Any]) -> bool:
    """Leave out characters that Unicode has not assigned."""
    return not _has_unassigned(case.body)


@schemathesis.check
def refused_for_a_reason_of_its_own(_ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """What fits the document is refused only for a reason that the route names: never as out of form."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code < 400:
        return
    problem = response.json()
    kind = problem["type"].removeprefix("/docs#")
    if {error["message"] for error in problem.get("errors", ())} == {A_FLOAT}:
        return
    assert kind in OWN[case.operation.label], f"what fits the document is refused as {kind}"


def _has_unassigned(body: object) -> bool:
    """Whether a text has an unassigned character: the generator takes whole blocks for characters."""
    match body:
        case str():
            return any(unicodedata.category(character) == "Cn" for character in body)
        case dict():
            return any(map(_has_unassigned, body.values()))
        case list():
            return any(map(_has_unassigned, body))
        case _:
            return False
