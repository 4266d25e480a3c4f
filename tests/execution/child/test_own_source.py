"""The source lines that are kept with a failure: the user's own frames only, few and short."""

import json
import linecache
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from tenure.api import views
from tenure.api.redaction import USUAL
from tenure.core.model.retry import LAST_LINE, Raised
from tenure.core.values.failure import LONGEST_EXCERPT_LINE, MOST_EXCERPTS, Excerpt, Failure
from tenure.execution.child.own_source import AROUND
from tenure.execution.child.performance import report_of
from tenure.execution.parent.reports import sanitized_failure

APP = """import json

def inner(text):
    password = "hunter2"
    return json.loads(text)
    # after

def handler(text):
    try:
        return inner(text)
    except ValueError as error:
        raise LookupError(text) from error
"""


def module_of(folder: Path, name: str, source: str = APP) -> ModuleType:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def failure_in(module: ModuleType, text: str = "{") -> Failure:
    with pytest.raises((LookupError, OSError, RecursionError)) as caught:
        module.handler(text)
    error = caught.value
    assert error.__traceback__ is not None
    raised = report_of(error.with_traceback(error.__traceback__.tb_next))  # from the handler's frame on
    assert isinstance(raised, Raised)
    return raised.error


def test_each_own_frame_has_its_line_and_two_around_in_the_order_of_the_traceback(tmp_path: Path) -> None:
    error = failure_in(module_of(tmp_path, "shop"))
    lines = APP.splitlines()
    assert [(one.file, one.line) for one in error.source] == [
        (str(tmp_path / "shop.py"), n) for n in (10, 5, 12)
    ]
    for one in error.source:
        assert one.first == one.line - AROUND
        assert list(one.text) == lines[one.first - 1 : one.line + AROUND]
    assert not any(json.__file__ == one.file for one in error.source)
    assert error.traceback is not None
    assert "json/decoder.py" in error.traceback


def test_what_is_installed_is_no_code_of_the_users_unless_the_handler_is_installed_too(
    tmp_path: Path,
) -> None:
    installed = tmp_path / "site-packages"
    library = module_of(installed, "library", "def fail(text):\n    raise OSError(text)\n")
    own = module_of(tmp_path, "shop", "def handler(text):\n    call(text)\n")
    own.__dict__["call"] = library.fail
    assert [Path(one.file).name for one in failure_in(own).source] == ["shop.py"]
    alike = module_of(installed, "shop", "def handler(text):\n    call(text)\n")
    alike.__dict__["call"] = library.fail
    assert [Path(one.file).name for one in failure_in(alike).source] == ["shop.py"]


def test_source_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    module = module_of(tmp_path, "gone")
    (tmp_path / "gone.py").unlink()
    linecache.clearcache()
    assert failure_in(module).source == ()


def test_a_recursion_is_told_by_few_excerpts(tmp_path: Path) -> None:
    lines = "".join(f"    if n == {n}: return handler(n + 1)\n" for n in range(MOST_EXCERPTS + 5))
    deep = f"def handler(text):\n    n = 0 if text == '{{' else text\n{lines}    raise OSError\n"
    source = failure_in(module_of(tmp_path, "deep", deep)).source
    assert len(source) == MOST_EXCERPTS
    assert source[-1].text[AROUND] == "    raise OSError"
    limit = sys.getrecursionlimit()
    endless = module_of(tmp_path, "endless", "def handler(text):\n    handler(text)\n")
    assert len(failure_in(endless).source) == 1
    assert sys.getrecursionlimit() == limit


def test_what_a_process_claims_is_cut() -> None:
    """A process may report what it likes."""
    text = ("x" * 10_000, "\ud800", *(["more"] * 100))
    told = Failure("E", "m", None, (Excerpt("/" * 9_000, -(2**63), 2**63 - 1, text),) * 100)
    kept = sanitized_failure(told)
    assert len(kept.source) == MOST_EXCERPTS
    [one] = set(kept.source)
    assert (one.line, one.first, len(one.text[0])) == (0, LAST_LINE, LONGEST_EXCERPT_LINE)
    assert len(msgspec.json.encode(kept)) < 16_384


def test_secrets_in_source_are_hidden_where_it_is_shown(tmp_path: Path) -> None:
    error = failure_in(module_of(tmp_path, "shop"))
    assert any("hunter2" in line for one in error.source for line in one.text)
    shown = views.failure(error, USUAL)
    assert "hunter2" not in repr(shown)
    assert [one.line for one in shown.source] == [one.line for one in error.source]


@pytest.mark.parametrize("document", ['{"kind":"E","message":"m"}', '{"kind":"E","message":"m","source":[]}'])
def test_failures_from_before_are_read(document: str) -> None:
    assert msgspec.json.decode(document, type=Failure) == Failure("E", "m")
