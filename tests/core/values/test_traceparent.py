"""A traceparent is read as W3C writes it, whatever else comes in its place."""

from uuid import UUID

import pytest

from tenure.core.values.traceparent import Trace, kept, parse, span_of, trace_id, trace_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
JOB = UUID("01890000-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (f"00-{TRACE}-{SPAN}-00", 0),
        (f"00-{TRACE}-{SPAN}-01", 1),
        (f"00-{TRACE}-{SPAN}-03", 3),
        (f"00-{TRACE}-{SPAN}-ff", 3),
        (f"cc-{TRACE}-{SPAN}-01", 1),
        (f"cc-{TRACE}-{SPAN}-01-what the future will bring", 1),
    ],
)
def test_flags_and_versions_that_nobody_knows_yet_are_no_hindrance(text: str, flags: int) -> None:
    """S1.76."""
    assert parse(text) == Trace(TRACE, SPAN, flags)
    assert kept(text) == f"00-{TRACE}-{SPAN}-0{flags}"
    assert trace_id(text) == TRACE


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01\n",
        f"cc-{TRACE}-{SPAN}-01more",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0g",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
        "\N{FULLWIDTH DIGIT ZERO}" * 55,
    ],
)
def test_what_is_no_traceparent_counts_as_none(text: str | None) -> None:
    assert (parse(text), kept(text), trace_id(text)) == (None, None, None)


def test_attempts_of_a_job_are_in_one_trace_as_spans_of_their_own() -> None:
    assert trace_of(JOB, f"00-{TRACE}-{SPAN}-01") == TRACE
    assert trace_of(JOB, None) == trace_of(JOB, "nonsense") == JOB.hex
    ids = {span_of(JOB, fence) for fence in range(100)} | {span_of(UUID(int=1), 1)}
    assert len(ids) == 101
    assert {len(each) for each in ids} == {16}
    assert span_of(JOB, 7) == span_of(UUID(str(JOB)), 7)
