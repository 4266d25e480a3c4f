"""What an attempt leaves behind: values that exist can be stored."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.trail import LEVELS, LogLine, Note, Usage
from tenure.core.values.bounds import LONGEST_LINE
from tenure.core.values.documents import Document

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exit_code", 2**31),
        ("exit_code", 1.5),
        ("signal", 0),
        ("signal", 128),
        ("cpu", timedelta(microseconds=-1)),
        ("cpu", timedelta.max),
        ("peak_memory", -1),
        ("peak_memory", 2**63),
    ],
)
def test_what_no_process_can_have_used_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        Usage(**{field: value})


def test_an_attempt_may_have_used_a_lot() -> None:
    Usage(exit_code=-(2**31), signal=127, cpu=timedelta(days=365_000), peak_memory=2**63 - 1)


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_has_one_of_six_levels(level: str) -> None:
    assert LogLine(1, NOW, level, "").level == level


@pytest.mark.parametrize("level", ["", "INFO", "trace"])
def test_a_level_that_there_is_not_is_refused(level: str) -> None:
    with pytest.raises(InvalidInput, match="level"):
        LogLine(1, NOW, level, "")


@pytest.mark.parametrize("n", [0, -1, 2**31, 1.0])
def test_lines_are_counted_from_one(n: Any) -> None:
    with pytest.raises(InvalidInput, match="n: "):
        LogLine(n, NOW, "info", "")


@pytest.mark.parametrize("at", [datetime(2030, 1, 1), datetime(1969, 12, 31, tzinfo=UTC)])  # noqa: DTZ001
def test_a_line_has_a_time_that_can_be_kept(at: datetime) -> None:
    with pytest.raises(InvalidInput, match="at: "):
        LogLine(1, at, "info", "")


def test_a_line_may_hold_whatever_a_handler_writes() -> None:
    """Stores replace what they cannot keep; nothing a handler says is refused for its characters."""
    LogLine(1, NOW, "stdout", "\x00\udcff\x1b[31m" + "x" * (LONGEST_LINE - 7))


def test_a_line_without_an_end_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"text: .*65,536"):
        LogLine(1, NOW, "stdout", "x" * (LONGEST_LINE + 1))


@pytest.mark.parametrize("type_", ["custom:sent", "custom:half.way-there:2", "hook_failed"])
def test_a_note_has_a_type_of_its_own(type_: str) -> None:
    assert Note(type_, Document('{"to":"ann"}')).type == type_


@pytest.mark.parametrize(
    "type_", ["succeeded", "started", "custom:", "custom: sent", "sent", "hook_failed!", ""]
)
def test_a_note_is_never_taken_for_a_step(type_: str) -> None:
    """S1.44: what a handler says cannot be mistaken for what happened to its job."""
    with pytest.raises(InvalidInput, match="type"):
        Note(type_)
