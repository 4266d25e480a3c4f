"""Fingerprints: the same for the same trouble, another one for another."""

import traceback
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.core.model.retry import describe
from tenure.core.values.failure import Failure
from tenure.core.values.fingerprint import UNKNOWN, check, fingerprint, of

TRACE = """Traceback (most recent call last):
  File "{root}/app/jobs.py", line {line}, in send
    deliver({line})
  File "{root}/app/mail.py", line {line}, in deliver
    raise KeyError(name)
KeyError: 'user {line}'
"""


def trace(root: str = "/srv/one", line: int = 7) -> str:
    return TRACE.format(root=root, line=line)


def raised(make: Callable[[], object]) -> Failure:
    """The description of the exception that a call raises."""
    try:
        make()
    except Exception as error:
        return describe(error).error
    raise AssertionError("it did not raise")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no user 17", "no user 18"),
        ("no such file: '/tmp/a.txt'", "no such file: '/var/b.txt'"),
        ("cannot open /srv/blue/app/x.cfg", "cannot open /srv/green/app/x.cfg"),
        ("<Widget object at 0x7f3a2c>", "<Widget object at 0x55d0e1>"),
        (
            "job 0193e2a4-1b5c-7def-8000-0123456789ab is gone",
            "job 11111111-2222-7333-8444-555555555555 is gone",
        ),
        ("GET https://a.example/1?x=2 said no", "GET https://b.example/9 said no"),
        ("first line 1\nand one more", "first line 2\nand another"),
        ("took  3.5 s", "took 12.75 s"),
        ("it's 'this' one", "it's 'that' one"),
    ],
)
def test_what_varies_in_a_message_does_not_count(one: str, other: str) -> None:
    assert fingerprint(Failure("ValueError", one)) == fingerprint(Failure("ValueError", other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Failure("ValueError", "boom"), Failure("TypeError", "boom")),
        (Failure("ValueError", "boom"), Failure("ValueError", "bang")),
        (Failure("E", "boom", trace()), Failure("E", "boom", trace().replace("in deliver", "in retry"))),
        (Failure("E", "boom", trace()), Failure("E", "boom", trace().replace("mail.py", "post.py"))),
        (Failure("E", "boom", trace()), Failure("E", "boom")),
    ],
)
def test_kind_message_and_place_count(one: Failure, other: Failure) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_neither_machine_nor_release_nor_line_counts() -> None:
    one, other = trace("/srv/one/releases/41", 7), trace("/opt/two", 9001)
    assert fingerprint(Failure("KeyError", "'user 7'", one)) == fingerprint(Failure("KeyError", "'u'", other))


def test_what_led_to_the_last_exception_does_not_count() -> None:
    """Only the exception that ended the attempt does."""
    chained = 'Traceback (most recent call last):\n  File "/x/y.py", line 1, in early\nOSError\n\n'
    chained += "During handling of the above exception, another exception occurred:\n\n" + trace()
    assert fingerprint(Failure("E", "", chained)) == fingerprint(Failure("E", "", trace()))


def test_how_deep_a_function_called_itself_does_not_count() -> None:
    def fall(deep: int) -> None:
        if deep:
            fall(deep - 1)
        raise ValueError("the ground")

    assert fingerprint(raised(lambda: fall(2))) == fingerprint(raised(lambda: fall(40)))


def test_a_real_group_of_exceptions_has_a_fingerprint() -> None:
    def fail(number: int) -> None:
        raise ExceptionGroup("several", [ValueError(f"no {number}"), KeyError(number)])

    assert fingerprint(raised(lambda: fail(1))) == fingerprint(raised(lambda: fail(2)))


def test_tracebacks_of_other_languages_count_by_their_last_lines() -> None:
    node = "Error: no\n    at send (/srv/{n}/mail.js:{n}:3)\n    at main (/srv/{n}/index.js:{n}:9)"
    one, other = (Failure("Error", "no", node.format(n=n)) for n in (1, 22))
    assert fingerprint(one) == fingerprint(other)
    elsewhere = Failure("Error", "no", node.format(n=1).replace("mail.js", "post.js"))
    assert fingerprint(elsewhere) != fingerprint(one)


def test_a_fingerprint_names_whose_it_is() -> None:
    error = Failure("ValueError", "boom", "".join(traceback.format_stack()))
    assert of("mail.send", error) == f"mail.send:{fingerprint(error)}"
    assert of("mail.send", None) == f"mail.send:{UNKNOWN}"
    check("fingerprint", of("a" * 120, error))


@pytest.mark.parametrize(
    "text", ["", "mail", ":000000000000", "mail:00000000000", "mail:00000000000g", " mail:000000000000", None]
)
def test_what_is_no_fingerprint_is_refused(text: str | None) -> None:
    with pytest.raises(InvalidInput, match="fingerprint: is not a fingerprint; copy it from"):
        check("fingerprint", text)


@given(st.text(), st.text(), st.none() | st.text())
def test_whatever_an_exception_says_has_a_fingerprint(kind: str, message: str, trace: str | None) -> None:
    check("fingerprint", of("mail", Failure(kind, message, trace)))
