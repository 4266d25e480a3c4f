"""What is written by hand is read by OpenTelemetry's own messages as it was meant."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Read
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tenure.core.values.span import WHOLE, Attributes, Span, SpanEvent, SpanLink
from tenure.telemetry.traces import otlp_encoding
from tests.telemetry.collectors import values_of

TEXTS = some.text(some.characters(exclude_categories=["Cs"]), max_size=300)
SCALARS = some.one_of(TEXTS, some.booleans(), some.integers(*WHOLE), some.floats(allow_nan=False))
ATTRIBUTES = some.dictionaries(TEXTS, some.one_of(SCALARS, some.lists(SCALARS, max_size=4)), max_size=5)
MOMENTS = some.integers(0, 2**63 - 1)
TRACES, SPANS = (some.binary(min_size=n, max_size=n).map(bytes.hex) for n in (16, 8))
MADE = some.builds(
    Span,
    name=TEXTS,
    trace_id=TRACES,
    span_id=SPANS,
    parent_id=some.none() | SPANS,
    kind=some.sampled_from(["internal", "server", "client", "producer", "consumer"]),
    began_at=MOMENTS,
    ended_at=MOMENTS,
    attributes=ATTRIBUTES,
    status=some.sampled_from(["unset", "ok", "error"]),
    message=TEXTS,
    events=some.lists(some.builds(SpanEvent, TEXTS, MOMENTS, ATTRIBUTES), max_size=3).map(tuple),
    links=some.lists(some.builds(SpanLink, TRACES, SPANS), max_size=3).map(tuple),
)
REMOTE, KNOWN, SAMPLED = 0x200, 0x100, 0x01


def plain(attributes: Any) -> list[tuple[str, str, object]]:
    """Names, kinds and values: 1, 1.0 and True are equal, and are not the same."""
    found = {
        name: [getattr(one, one.WhichOneof("value")) for one in value.values]
        if hasattr(value, "values")
        else value
        for name, value in values_of(attributes).items()
    }
    return meant(found)


def _kind(value: object) -> str:
    return str([type(each) for each in value]) if isinstance(value, list) else str(type(value))


def meant(attributes: Attributes) -> list[tuple[str, str, object]]:
    return [(name, _kind(value), value) for name, value in attributes.items()]


@settings(max_examples=50, deadline=None)
@given(some.lists(MADE, min_size=1, max_size=3), ATTRIBUTES)
def test_a_span_is_read_as_it_was_written(made: list[Span], resource: Attributes) -> None:
    """S1.76: whatever it says."""
    body = otlp_encoding.request(
        resource, {otlp_encoding.scope("app", "1.0"): [otlp_encoding.encode(span) for span in made]}
    )
    [of_one] = ExportTraceServiceRequest.FromString(body).resource_spans
    assert plain(of_one.resource.attributes) == meant(resource)
    [scope] = of_one.scope_spans
    assert (scope.scope.name, scope.scope.version) == ("app", "1.0")
    assert len(scope.spans) == len(made)
    for read, span in zip(scope.spans, made, strict=True):
        assert (read.trace_id.hex(), read.span_id.hex()) == (span.trace_id, span.span_id)
        assert read.parent_span_id.hex() == (span.parent_id or "")
        assert (read.name, read.kind) == (span.name, Read.SpanKind.Value(f"SPAN_KIND_{span.kind.upper()}"))
        assert (read.start_time_unix_nano, read.end_time_unix_nano) == (span.began_at, span.ended_at)
        assert plain(read.attributes) == meant(span.attributes)
        assert read.status.code == Status.StatusCode.Value(f"STATUS_CODE_{span.status.upper()}")
        assert read.status.message == span.message
        events = [(one.name, one.time_unix_nano, plain(one.attributes)) for one in read.events]
        assert events == [(one.name, one.at, meant(one.attributes)) for one in span.events]
        links = [(one.trace_id.hex(), one.span_id.hex(), one.flags) for one in read.links]
        assert links == [(one.trace_id, one.span_id, KNOWN | SAMPLED) for one in span.links]
        is_remote = span.parent_id is not None and span.kind in {"server", "consumer"}
        assert read.flags == SAMPLED | KNOWN | (REMOTE if is_remote else 0)
        assert not read.trace_state


def test_numbers_and_truths_that_are_equal_are_not_taken_for_each_other() -> None:
    """Though what was written before is kept, to be used again."""
    for value in (1, True, 1.0, "1", 1):
        trace, own = "1" * 32, "1" * 16
        span = Span(name="n", trace_id=trace, span_id=own, began_at=1, ended_at=2, attributes={"x": value})
        body = otlp_encoding.request({}, {b"": [otlp_encoding.encode(span)]})
        [of_one] = ExportTraceServiceRequest.FromString(body).resource_spans
        assert plain(of_one.scope_spans[0].spans[0].attributes) == meant({"x": value})
