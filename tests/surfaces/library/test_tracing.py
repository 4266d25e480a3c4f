"""Jobs follow from the span in which a program enqueues them, if it has one."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, use_span

from tenure import Tenure
from tenure.core.values.traceparent import parse

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"


@pytest.fixture
def caller_span() -> NonRecordingSpan:
    """The span of a caller, as a web framework sets it."""
    return NonRecordingSpan(
        SpanContext(int(TRACE, 16), int(SPAN, 16), is_remote=True, trace_flags=TraceFlags(3))
    )


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans that a program with an SDK exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)  # the global one can be set but once
    yield exporter
    provider.shutdown()


def mail(params: dict[str, int]) -> None:
    """Never run here."""


async def test_jobs_follow_from_the_current_span_without_any_sdk(
    app: Tenure, caller_span: NonRecordingSpan
) -> None:
    """S1.76: one by one, many at once, and by name."""
    job = app.job("mail")(mail)
    outside = await job.enqueue({})
    with use_span(caller_span):
        inside = [
            await job.enqueue({}),
            *await job.enqueue_many([{"n": 1}, {"n": 2}]),
            await app.enqueue("mail"),
            *await app.enqueue_many([job.new_job({})]),
        ]
    assert (await outside.get()).traceparent is None
    assert {(await each.get()).traceparent for each in inside} == {FOLLOWED}


def test_plain_code_is_followed_too(app: Tenure, caller_span: NonRecordingSpan) -> None:
    job = app.job("mail")(mail)
    with use_span(caller_span):
        handle = job.enqueue_sync({})
    assert handle.get_sync().traceparent == FOLLOWED


async def test_where_there_is_an_sdk_to_send_is_a_span(
    app: Tenure, caller_span: NonRecordingSpan, memory: InMemorySpanExporter
) -> None:
    """S1.76."""
    job = app.job("mail")(mail)
    with use_span(caller_span):
        handles = await job.enqueue_many([{"n": 1}, {"n": 2}])
    [span] = memory.get_finished_spans()
    assert (span.name, span.kind) == ("send mail", SpanKind.PRODUCER)
    assert dict(span.attributes or {}) == {
        "messaging.system": "tenure",
        "messaging.operation.type": "send",
        "messaging.operation.name": "send",
        "messaging.destination.name": "default",
        "messaging.batch.message_count": 2,
        "tenure.definition": "mail",
    }
    assert span.context is not None
    for handle in handles:
        follows = parse((await handle.get()).traceparent)
        assert follows == (TRACE, f"{span.context.span_id:016x}", 3)


def test_who_does_not_trace_does_not_load_what_is_for_that() -> None:
    script = (
        "import sys, tenure, asyncio\n"
        "app = tenure.Tenure('sqlite:///:memory:')\n"
        "job = app.job('mail')(lambda params: None)\n"
        "from tenure.surfaces.library.trace_context import sending\n"
        "with sending([job.new_job({})]) as sent: pass\n"
        "assert sent[0].traceparent is None\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
