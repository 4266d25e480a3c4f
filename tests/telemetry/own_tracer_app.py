"""An app that has a tracer provider of its own, from its import on."""

from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tenure import Tenure
from tests.telemetry.tracing_app import LANES

memory = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)

app = Tenure()


def plainly(_params: dict[str, Any]) -> dict[str, Any]:
    with trace.get_tracer("own").start_as_current_span("fetch"):
        pass
    span = memory.get_finished_spans()[-1]
    assert span.context is not None
    parent = None if span.parent is None else f"{span.parent.span_id:016x}"
    return {"name": span.name, "trace": f"{span.context.trace_id:032x}", "parent": parent}


async def in_a_loop(params: dict[str, Any]) -> dict[str, Any]:
    return plainly(params)


for lane in LANES:
    app.job(f"trace.{lane}", lane=lane)(in_a_loop if lane == "async" else plainly)
