"""Each attempt is a span, however it ends, on both stores."""

from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind, StatusCode

from tenure.core.states import State
from tenure.core.traceparent import span_of
from tenure.storage.contract import Store
from tenure.telemetry.otlp import SdkSpans
from tests.worker.employing import appear, employ, enqueue, reach

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"


class Exported:
    """An exporter, and what it has."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._memory = InMemorySpanExporter()
        self.spans = SdkSpans(SimpleSpanProcessor(self._memory), provider)

    def of(self, job: object) -> list[ReadableSpan]:
        """The spans of a job's attempts, in order."""
        return [
            one for one in self._memory.get_finished_spans() if told(one)["messaging.message.id"] == str(job)
        ]

    @property
    def names(self) -> list[str]:
        return [one.name for one in self._memory.get_finished_spans()]


def told(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[str, str, str | None]:
    """Trace, span and parent."""
    assert span.context is not None
    parent = None if span.parent is None else f"{span.parent.span_id:016x}"
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}", parent


async def test_every_outcome_is_a_span_that_says_so(store: Store, tmp_path: Path) -> None:
    """S1.76: in the caller's trace, or in one of the job's own."""
    exported = Exported()
    wait = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    killed = {"begun": str(tmp_path / "killed"), "end": str(tmp_path / "end")}
    async with employ(store, slots=8, shutdown=0, spans=exported.spans) as employed:
        good = await enqueue(store, "echo", traceparent=FOLLOWED)
        alone = await enqueue(store, "echo")
        unheard = await enqueue(store, "echo", traceparent=UNSAMPLED)
        dead = await enqueue(store, "die", policy={"max_attempts": 1})
        snoozed = await enqueue(store, "snooze_once", {"snoozed": str(tmp_path / "snoozed")})
        stopped = await enqueue(store, "wait", wait)
        await appear(tmp_path / "begun")
        await store.cancel([stopped])
        for job in (good, alone, unheard, dead, snoozed, stopped):
            await reach(store, job, State.SUCCEEDED, State.FAILED, State.CANCELLED)
        given_back = await enqueue(store, "wait", killed)
        await appear(tmp_path / "killed")
        employed.stop()
    ends = {
        job: [(told(one)["tenure.outcome"], told(one)["tenure.state"]) for one in exported.of(job)]
        for job in (good, alone, unheard, dead, snoozed, stopped, given_back)
    }
    assert ends == {
        good: [("succeeded", "succeeded")],
        alone: [("succeeded", "succeeded")],
        unheard: [],
        dead: [("recoverable", "failed")],
        snoozed: [("suspended", "suspended"), ("succeeded", "succeeded")],
        stopped: [("stopped", "cancelled")],
        given_back: [("killed", "queued")],
    }
    [span], [own], [failed] = exported.of(good), exported.of(alone), exported.of(dead)
    assert (span.name, span.kind) == ("process echo", SpanKind.CONSUMER)
    trace, _, parent = ids(span)
    assert (trace, parent) == (TRACE, SPAN)
    assert ids(own)[0] == alone.hex
    assert own.parent is None
    assert told(span) == {
        "messaging.system": "tenure",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": str(good),
        "tenure.definition": "echo",
        "tenure.version": 1,
        "tenure.attempt": 1,
        "tenure.outcome": "succeeded",
        "tenure.state": "succeeded",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert (failed.status.status_code, told(failed)["error.type"]) == (StatusCode.ERROR, "KilledBySignal")
    assert span.resource.attributes["service.name"] == "tenure"
    assert (span.end_time or 0) > (span.start_time or 0)


async def test_an_attempt_has_a_link_to_the_one_before_it_whoever_ran_that(
    store: Store, tmp_path: Path
) -> None:
    """S1.76: two workers, of which the second knows nothing of the first."""
    first, second = Exported(), Exported()
    wait = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    async with employ(store, spans=first.spans):
        job = await enqueue(store, "fail_when_told", wait, traceparent=FOLLOWED)
        await appear(tmp_path / "begun")
        await store.pause("default")
        (tmp_path / "end").touch()
        await reach(store, job, State.RETRYING, State.QUEUED)
    await store.resume("default")
    async with employ(store, spans=second.spans):
        await reach(store, job, State.SUCCEEDED)
    [one], [two] = first.of(job), second.of(job)
    assert ids(one)[1] != ids(two)[1]
    assert [ids(each)[::2] for each in (one, two)] == [(TRACE, SPAN)] * 2
    assert not one.links
    [link] = two.links
    assert (f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") == ids(one)[:2]
    [earlier, _] = await store.attempts(job)
    assert ids(one)[1] == span_of(job, earlier.fence)
    assert (told(one)["error.type"], told(two)["tenure.attempt"]) == ("ValueError", 2)
    assert not [value for value in told(one).values() if "told to fail" in str(value)]


async def test_of_many_attempts_each_has_a_link_to_the_last_one_before_it(store: Store) -> None:
    """S1.76."""
    exported = Exported()
    async with employ(store, spans=exported.spans):
        job = await enqueue(store, "fail_first", {"failures": 2})
        await reach(store, job, State.SUCCEEDED)
    one, two, three = exported.of(job)
    linked = [[f"{link.context.span_id:016x}" for link in each.links] for each in (one, two, three)]
    assert linked == [[], [ids(one)[1]], [ids(two)[1]]]


async def test_the_sampler_is_asked_once_and_holds_for_the_handler_as_well(store: Store) -> None:
    """S1.76: what nobody asked for is not sampled here, what somebody traces is."""
    exported = Exported(TracerProvider(sampler=ParentBased(ALWAYS_OFF), shutdown_on_exit=False))
    async with employ(store, spans=exported.spans):
        for job in (await enqueue(store, "echo"), await enqueue(store, "echo", traceparent=FOLLOWED)):
            await reach(store, job, State.SUCCEEDED)
    assert exported.names == ["process echo"]
