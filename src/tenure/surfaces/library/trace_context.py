"""Puts jobs into the trace of the program that enqueues them, if it has loaded OpenTelemetry's API.

Nothing is imported here: a program that has not loaded it has no current span.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from tenure.core.model.job import NewJob, following
from tenure.core.values.span import OWN_SCOPE
from tenure.core.values.traceparent import current


def sending(jobs: Sequence[NewJob]) -> AbstractContextManager[Sequence[NewJob]]:
    """The jobs as children of a new span around this block; unchanged if no span is current."""
    return nullcontext(jobs) if not jobs or current() is None else _spanned(jobs)


@contextmanager
def _spanned(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    trace = sys.modules["opentelemetry.trace"]
    tracer = trace.get_tracer(OWN_SCOPE)
    with tracer.start_as_current_span(
        f"send {jobs[0].definition}", kind=trace.SpanKind.PRODUCER, attributes=_attributes(jobs)
    ):
        traceparent = current()
        yield jobs if traceparent is None else [following(job, traceparent) for job in jobs]


def _attributes(jobs: Sequence[NewJob]) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "messaging.system": "tenure",
        "messaging.operation.type": "send",
        "messaging.operation.name": "send",
        "messaging.destination.name": jobs[0].queue,
        "tenure.definition": jobs[0].definition,
    }
    if len(jobs) > 1:
        attributes["messaging.batch.message_count"] = len(jobs)
    return attributes
