"""Jobs in the trace of the program that enqueues them: by OpenTelemetry's API, if the program has loaded it.

Nothing is imported here: who has not loaded it can have no current span.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from tenure.core.job import NewJob, following
from tenure.core.span import OWN_SCOPE
from tenure.execution.tracing import current


def sending(jobs: Sequence[NewJob]) -> AbstractContextManager[Sequence[NewJob]]:
    """The jobs, which follow from a span around this block; as they are where no span is current."""
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
    found: dict[str, str | int] = {
        "messaging.system": "tenure",
        "messaging.operation.type": "send",
        "messaging.operation.name": "send",
        "messaging.destination.name": jobs[0].queue,
        "tenure.definition": jobs[0].definition,
    }
    if len(jobs) > 1:
        found["messaging.batch.message_count"] = len(jobs)
    return found
