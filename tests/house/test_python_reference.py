"""The page about the library names everything that is public, as the code has it."""

from typing import Any, Generic, TypeVar, overload

import pytest

import tenure
from tenure.core.model.spec import Spec
from tenure.settings.settings import Settings
from tenure.surfaces.library.terms import DefinitionTerms, spec_of
from tools import python_reference
from tools.python_source import Method, fields, methods, twins

PAGE = python_reference.PAGE.read_text()
T = TypeVar("T")


def test_the_page_is_what_the_code_says_now() -> None:
    assert python_reference.page(PAGE) == PAGE, "run `make states`"


def test_everything_public_has_a_docstring_and_every_error_a_way_out() -> None:
    assert list(python_reference.undescribed()) == []


@pytest.mark.parametrize("name", sorted({*tenure.__all__} - {"__version__"}))
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE or f"{name}(" in PAGE


def test_no_way_out_is_named_for_an_error_that_is_gone() -> None:
    assert python_reference.REMEDIES.keys() == {error.__name__ for error in python_reference.errors()}


def test_what_a_handler_can_do_stands_right_behind_how_to_make_one() -> None:
    headings = [line for line in PAGE.splitlines() if line.startswith("## ")]
    assert headings[:2] == ["## `@app.job`", "## What a handler can do"]


@pytest.mark.parametrize("field", fields(DefinitionTerms), ids=lambda field: field.name)
def test_a_default_that_is_named_is_the_one_in_force(field: Any) -> None:
    said = field.default.partition(", or ")[0]
    spec = spec_of("a.job", {}, Settings())
    in_force: dict[str, Any] = {
        **{name: _at(spec, name) for name in ("version", "queue", "priority", "lane", "concurrency")},
        "timeout": spec.policy.timeout.total_seconds(),
        "grace": spec.policy.grace.total_seconds(),
        "max_attempts": spec.policy.max_attempts,
        "on_lost": spec.policy.on_lost.value,
        "files": Settings().child_files,
    }
    if field.name in in_force:
        value = in_force[field.name]
        assert said == (f'"{value}"' if isinstance(value, str) else f"{value:g}")
    elif field.name == "retry":
        retry = spec.policy.retry
        assert said == f"backoff(base={retry.base.seconds}, cap={retry.cap.seconds})"
    else:
        assert not _at(spec, field.name), "its docstring names no value, but it has one"


def _at(spec: Spec, name: str) -> object:
    return getattr(spec, name) if hasattr(spec, name) else getattr(spec.policy.retry, name)


class Shelf(Generic[T]):
    """Things of one kind."""

    size: int
    """How many fit. Default: 3."""

    @overload
    def take(self, place: int) -> T: ...
    @overload
    def take(self, place: str, *, late: "bool | None" = None) -> "list[T]": ...
    def take(self, place: int | str, *, late: bool | None = None) -> "T | list[T]":
        """Take one, or all."""
        raise NotImplementedError

    async def fill(self, *things: T, **options: int) -> None:
        """Fill it."""

    def fill_sync(self, *things: T, **options: int) -> None:
        """The twin."""

    def bare(self) -> None: ...


def test_generics_overloads_and_twins_are_read_as_they_are_written() -> None:
    """A reader of source that was never seen to read these proves nothing by the page that it writes."""
    assert list(methods(Shelf, "shelf")) == [
        Method(
            "take",
            ["shelf.take(place: int) -> T", "shelf.take(place: str, *, late: bool | None = None) -> list[T]"],
            "Take one, or all.",
        ),
        Method("fill", ["await shelf.fill(*things: T, **options) -> None"], "Fill it."),
        Method("bare", ["shelf.bare() -> None"], ""),
    ]
    assert twins(Shelf) == ["fill"]
    [size] = fields(Shelf)
    assert (size.meaning, size.default) == ("How many fit.", "3")
