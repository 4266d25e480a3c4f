"""What handlers do follows from their attempt, in every lane, and their spans reach the worker."""

import os
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio

from tenure.core.retry import Returned
from tenure.core.traceparent import parse
from tenure.execution import conversation, tracing
from tenure.execution.lanes import Lanes
from tenure.execution.limits import MORE_ALLOWED
from tests.execution.attempts import ROOT, Heard, run
from tests.telemetry.tracing import LANES

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
FOLLOWED = f"00-{TRACE}-{SPAN}-03"
UNSAMPLED = f"00-{TRACE}-{SPAN}-02"
TARGET = "tests.telemetry.tracing:app"
PROVIDED = "tests.telemetry.provided:app"
EXPORTED = {tracing.VARIABLE: "otlp", MORE_ALLOWED: tracing.VARIABLE}


@pytest_asyncio.fixture(params=[EXPORTED, {}], ids=["exported", "off"])
async def lanes(request: pytest.FixtureRequest) -> AsyncIterator[Lanes]:
    lanes = Lanes(TARGET, folder=ROOT, environment={**os.environ, **request.param})
    await lanes.start()
    yield lanes
    await lanes.close()


def is_exported(request: pytest.FixtureRequest) -> bool:
    named: str = request.node.callspec.id
    return named.startswith("exported")


async def answer(lanes: Lanes, lane: str, heard: Heard, traceparent: str | None) -> dict[str, object]:
    ended = await run(lanes.named(lane), f"trace.{lane}", {}, heard=heard, traceparent=traceparent)
    assert isinstance(ended.end, Returned), ended
    return msgspec.json.decode(ended.end.result, type=dict[str, object])


async def test_spans_follow_from_the_attempt_in_every_lane(
    lanes: Lanes, request: pytest.FixtureRequest
) -> None:
    """S1.76: and what a handler enqueues follows from its own span, or else from the attempt's."""
    for lane in LANES:
        heard = Heard()
        told = await answer(lanes, lane, heard, FOLLOWED)
        assert told["traceparent"] == FOLLOWED, lane
        [job] = heard.spawned
        follows = parse(job.traceparent)
        assert follows is not None
        assert (follows.trace_id, follows.flags) == (TRACE, 3), lane
        if not is_exported(request):
            assert (heard.spans, follows.span_id) == ([], SPAN), lane
            continue
        parse_, fetch, fail = heard.spans
        assert [span.name for span in heard.spans] == ["parse", "fetch", "fail"], lane
        assert {span.trace_id for span in heard.spans} == {TRACE}
        assert (fetch.parent_id, fail.parent_id, parse_.parent_id) == (SPAN, SPAN, fetch.span_id)
        assert follows.span_id == parse_.span_id
        assert fetch.attributes == {"size": 3, "tags": ["a", "b"]}
        assert [(event.name, event.attributes) for event in fetch.events] == [("cached", {"hit": True})]
        assert (fetch.status, fail.status, fail.message) == ("unset", "error", "ValueError: on purpose")
        assert fetch.began_at <= parse_.began_at <= parse_.ended_at <= fetch.ended_at
        assert fetch.scope == "sample"


async def test_an_attempt_follows_from_nothing_that_ran_before_it(lanes: Lanes) -> None:
    for lane in LANES:
        heard = Heard()
        await answer(lanes, lane, Heard(), FOLLOWED)
        await answer(lanes, lane, heard, None)
        assert not [span for span in heard.spans if span.trace_id == TRACE], lane


async def test_a_trace_that_nobody_records_is_not_recorded_here(lanes: Lanes) -> None:
    heard = Heard()
    await answer(lanes, "process", heard, UNSAMPLED)
    assert heard.spans == []
    [job] = heard.spawned
    follows = parse(job.traceparent)
    assert follows is not None
    assert (follows.trace_id, follows.is_sampled) == (TRACE, False)


async def test_a_program_is_told_by_a_variable(lanes: Lanes) -> None:
    assert await answer(lanes, "command", Heard(), FOLLOWED) == {"traceparent": FOLLOWED}
    assert await answer(lanes, "command", Heard(), None) == {"traceparent": None}


@pytest.mark.parametrize("lanes", [EXPORTED], indirect=True)
async def test_a_handler_cannot_flood_its_worker_with_spans(
    lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "MOST_SPANS", 20)
    heard = Heard()
    await run(lanes.named("process"), "flood", {"n": 50}, heard=heard, traceparent=FOLLOWED)
    assert len(heard.spans) == 20
    assert heard.texts("warning") == ["more than 20 spans; the rest is dropped"]


@pytest.mark.parametrize("lanes", [EXPORTED], indirect=True)
async def test_a_span_that_cannot_be_sent_costs_the_handler_nothing(lanes: Lanes) -> None:
    heard = Heard()
    ended = await run(lanes.named("process"), "odd", {}, heard=heard, traceparent=FOLLOWED)
    assert isinstance(ended.end, Returned), ended
    derived = {"text": "x", "share": 0.5, "count": 2, "x": ["x"], "file": "?.txt"}
    assert [(span.name, span.attributes) for span in heard.spans] == [
        ("odd", {"n": [1]}),
        ("x", derived),
        ("good", {}),
    ]


async def test_an_app_s_own_provider_is_left_alone_and_its_spans_follow_from_the_attempt() -> None:
    """S1.76: in every lane; they go where the app says, and not to the worker as well."""
    lanes = Lanes(PROVIDED, folder=ROOT, environment={**os.environ, **EXPORTED})
    await lanes.start()
    try:
        for lane in LANES:
            heard = Heard()
            told = await answer(lanes, lane, heard, FOLLOWED)
            assert told == {"name": "fetch", "trace": TRACE, "parent": SPAN}, lane
            assert heard.spans == [], lane
    finally:
        await lanes.close()
