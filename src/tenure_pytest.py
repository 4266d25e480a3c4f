"""The pytest plugin of Tenure: the fixture `tenure`, a harness around the app under test.

Every run of pytest loads this module, so it stands beside the package and imports nothing of it until a test
asks for the fixture.
"""

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tenure import Tenure
    from tenure.testing import AsyncHarness, Harness

_MISSING = (
    "the fixture `tenure` does not know your app: write `tenure_app = module:attribute` into pytest's "
    "configuration, or a fixture `tenure_app` that returns the app"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names the app."""
    parser.addini("tenure_app", "the app that the fixture `tenure` puts into a harness, as module:attribute")


@pytest.fixture
def tenure_app(request: pytest.FixtureRequest) -> "Tenure":
    """The app under test: the one that `tenure_app` in pytest's configuration names. To be overridden."""
    from tenure import Tenure
    from tenure.execution.handler.handler import import_failure, load

    target = str(request.config.getini("tenure_app"))
    if not target:
        pytest.fail(_MISSING, pytrace=False)
    try:
        app = load(target)
    except Exception as error:
        failure = import_failure(error)
        where = f"tenure_app = {target} in pytest's configuration"
        hint = ""
        if isinstance(error, ModuleNotFoundError):
            hint = (
                "; if the module is in a folder that Python does not search, set `pythonpath` there as well"
            )
        pytest.fail(f"{where} cannot be loaded: {failure.kind}: {failure.message}{hint}", pytrace=False)
    if not isinstance(app, Tenure):
        pytest.fail(f"{target} is no app but of type {type(app).__name__}", pytrace=False)
    return app


@pytest.fixture
def tenure(request: pytest.FixtureRequest, tenure_app: "Tenure") -> "Iterator[Harness | AsyncHarness]":
    """A harness around the app: a `Harness` for a plain test, an `AsyncHarness` for an `async def`."""
    from tenure.testing import AsyncHarness, Harness

    kind = AsyncHarness if inspect.iscoroutinefunction(request.function) else Harness
    harness: Harness | AsyncHarness = kind(tenure_app, 1, None)
    harness.open()
    try:
        yield harness
    finally:
        harness.close()
