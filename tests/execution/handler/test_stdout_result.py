"""The result of a program is separated from the rest of its output, in whatever pieces that comes."""

import json
from typing import NamedTuple

import pytest

from tenure.core.values.document_faults import LARGEST_DOCUMENT
from tenure.execution.handler.stdout_result import StdoutResult

PRETTY = json.dumps({"a": [1, {"b": None}], "c": "}"}, indent=2)


class Parsed(NamedTuple):
    result: str | None
    log: str


def parsed(text: str | bytes, piece: int) -> Parsed:
    """What is made of a text that comes in pieces of this size."""
    data = text.encode() if isinstance(text, str) else text
    log = bytearray()
    printed = StdoutResult(log.extend)
    for start in range(0, len(data), piece):
        printed.feed(data[start : start + piece])
    printed.close()
    result = None if printed.result is None else printed.result.decode()
    return Parsed(result, log.decode(errors="replace"))


@pytest.mark.parametrize("piece", [1, 3, 10_000])
@pytest.mark.parametrize(
    ("text", "result", "log"),
    [
        ("", None, ""),
        ("\n", None, "\n"),
        ("42", "42", ""),
        ('"a"\n', '"a"', ""),
        ("null\n", "null", ""),
        (" [1] \r\n", " [1] \r", ""),
        ("hello\n1\nbye", "1", "hello\nbye\n"),
        ("1\n2\n3\n", "3", "1\n2\n"),
        ("true story\n-\n+1\nNaN\n-Infinity\n'a'\n", None, "true story\n-\n+1\nNaN\n-Infinity\n'a'\n"),
        ("[INFO] began\n", None, "[INFO] began\n"),
        (PRETTY, PRETTY, ""),
        (f"began\n{PRETTY}\nended\n", PRETTY, "began\nended\n"),
        (f"{PRETTY}\n7\n", "7", f"{PRETTY}\n"),
        ("[\n]\n", "[\n]", ""),
        ("{\nno JSON\n}\n", None, "{\nno JSON\n}\n"),
        ("{\n5\nand no end\n", "5", "{\nand no end\n"),
    ],
)
def test_the_last_json_text_is_the_result(text: str, result: str | None, log: str, piece: int) -> None:
    assert parsed(text, piece) == Parsed(result, log)


def test_bytes_that_are_no_text_are_no_json() -> None:
    assert parsed(b'"\xff"\n', 10) == Parsed(None, '"\N{REPLACEMENT CHARACTER}"\n')


def test_json_that_is_too_deep_to_be_read_is_for_the_judge() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert parsed(deep, 10_000).result == deep


@pytest.mark.parametrize(
    "large",
    [
        json.dumps(["x" * LARGEST_DOCUMENT]),
        json.dumps(list(range(LARGEST_DOCUMENT // 4)), indent=1),
        "{\n" + " " * LARGEST_DOCUMENT + "\n}",
    ],
)
def test_a_result_that_is_too_large_is_known_as_such_and_passed_on(large: str) -> None:
    log = bytearray()
    printed = StdoutResult(log.extend)
    printed.feed(f"1\n{large}\nafter\n".encode())
    printed.close()
    assert (printed.result, printed.is_too_large) == (None, True)
    assert log.decode() == f"1\n{large}\nafter\n"
    printed.feed(b"2\n")
    assert (printed.result, printed.is_too_large) == (b"2", False)


def test_a_line_that_is_too_long_and_no_json_changes_nothing() -> None:
    log = bytearray()
    printed = StdoutResult(log.extend)
    printed.feed(b"1\n" + b"x" * (LARGEST_DOCUMENT + 1))
    assert len(log) > LARGEST_DOCUMENT  # it does not wait for the end of the line
    printed.feed(b"x\n")
    printed.close()
    assert (printed.result, printed.is_too_large) == (b"1", False)


def test_a_result_that_is_withdrawn_is_a_line() -> None:
    log = bytearray()
    printed = StdoutResult(log.extend)
    printed.feed(b"1\n")
    printed.withdraw()
    printed.withdraw()
    assert (printed.result, bytes(log)) == (None, b"1\n")
