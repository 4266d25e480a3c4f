"""How pages write times, sizes and texts."""

from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from tenure.api.redaction import USUAL
from tenure.core.values.documents import Document
from tenure.surfaces.dashboard.formats import (
    LONGEST_PREVIEW,
    age,
    ago,
    exact,
    figure,
    one_line,
    preview,
    size,
    span,
    spelled_out,
)


def test_lengths_of_time() -> None:
    ages = [age(seconds) for seconds in (0, 59.9, 61, 7200, 200_000)]
    assert ages == ["0 s", "59 s", "1 min", "2 h", "2 d"]
    assert [span(seconds) for seconds in (0.012, 1.25, 75, 4000, 400_000)] == [
        *("12 ms", "1.2 s", "1 min 15 s", "1 h 6 min", "4 d 15 h")
    ]
    assert [span(timedelta(seconds=count)) for count in (2, 59.99, 3600)] == ["2 s", "59.9 s", "1 h"]
    assert span(None) == ""


def test_moments() -> None:
    assert exact(datetime(2030, 1, 2, 3, 4, 5, 6789, tzinfo=UTC)) == "2030-01-02 03:04:05.006 UTC"
    assert ago(datetime.now(UTC) + timedelta(hours=2, minutes=1)) == "in 2 h"
    assert ago(datetime.now(UTC) - timedelta(days=3)) == "3 d ago"


def test_numbers_large_and_small() -> None:
    """A busy store's figures are written out, too."""
    shown = [figure(number) for number in (0, 0.0833, 1.0, 14.2, 99.4, 99.6, 150, 612_345.6)]
    assert shown == ["0", "0.083", "1", "14", "99", "100", "150", "612,346"]
    assert [figure(number, 4) for number in (0.01234, 1.0, 9999, 12_345)] == [
        "0.01234",
        "1",
        "9999",
        "12,345",
    ]


def test_sizes() -> None:
    assert [size(count) for count in (0, 1023, 1536, 300 * 2**20, 2**50)] == [
        *("0 B", "1023 B", "1.5 KiB", "300 MiB", "1024 TiB")
    ]


def test_a_text_cannot_look_like_another_line() -> None:
    """Line ends, escape sequences and turned directions are spelled out."""
    assert one_line("a\r\nb\x1b[31mred\u202eder\u2028x\ty") == "a\\r\\nb\\x1b[31mred\\u202eder\\u2028x\ty"
    assert len(one_line("x" * 10_000)) < 5_000


def test_a_text_cannot_look_like_another_text() -> None:
    """It keeps its lines; what is no text, or was made of texts before, stays as it is."""
    assert spelled_out("a\n\tb\u202ec\ud800") == "a\n\tb\\u202ec\\ud800"
    assert spelled_out(7) == 7
    made = Markup("<b>{}</b>").format("x")
    assert spelled_out(made) is made


def test_a_document_is_laid_out_without_its_secrets_and_no_longer_than_a_page() -> None:
    shown = preview(Document('{"to":"ada","password":"hunter2"}'), USUAL)
    assert shown.text == '{\n  "to": "ada",\n  "password": "[redacted]"\n}'
    assert (shown.size, shown.is_cut) == (33, False)
    long = preview(Document('["' + "x" * 300_000 + '"]'), USUAL)
    assert (len(long.text), long.is_cut) == (LONGEST_PREVIEW, True)
