"""The figures from which charts are drawn."""

from datetime import timedelta

import pytest

from tenure.core.model.states import State
from tenure.engine.figures import statistics
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded, unrecoverable
from tests.surfaces.http.http_server import Api


async def test_an_empty_store_has_figures(api: Api) -> None:
    """Every state is counted, and every part of a period is there."""
    answer = (await api.get("/v1/stats")).json
    assert answer["counts"] == {state.value: 0 for state in State}
    assert (answer["lately"]["perSecond"], answer["lately"]["waitSeconds"]) == (0, None)
    assert [(one["period"], one["partSeconds"], len(one["points"])) for one in answer["series"]] == [
        ("hour", 60, 60),
        ("day", 3600, 24),
    ]


async def test_what_ended_is_counted_where_it_ended(api: Api, store: Store, clock: Clock) -> None:
    """With how long it had waited and ran."""
    for _ in range(2):
        await enqueue_one(store)
    await clock.advance(seconds(4))
    good, bad = await claim(store)
    await clock.advance(seconds(6))
    await settle(store, [succeeded(good), unrecoverable(bad)])
    await clock.advance(timedelta(minutes=3))
    await store.cancel([await enqueue_one(store)])
    await enqueue_one(store)

    answer = (await api.get("/v1/stats")).json
    assert {state: n for state, n in answer["counts"].items() if n} == {
        "queued": 1,
        "succeeded": 1,
        "failed": 1,
        "cancelled": 1,
    }
    hour, day = (one["points"] for one in answer["series"])
    busy = [point for point in hour if any(point["ended"].values())]
    assert [point["ended"] for point in busy] == [
        {"succeeded": 1, "failed": 1, "cancelled": 0, "buried": 0},
        {"succeeded": 0, "failed": 0, "cancelled": 1, "buried": 0},
    ]
    assert (busy[0]["waitSeconds"], busy[0]["runSeconds"]) == ({"p50": 4, "p95": 4}, {"p50": 6, "p95": 6})
    assert (busy[1]["waitSeconds"], busy[1]["runSeconds"]) == (None, None)
    assert sum(sum(point["ended"].values()) for point in day) == 3
    assert answer["lately"]["perSecond"] == round(1 / 60, 3)
    assert START.isoformat()[:16] in {point["at"][:16] for point in hour}


async def test_figures_are_made_once_for_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "FRESH", 3600.0)
    made = statistics.Statistics(store)
    first = await made.figures()
    await enqueue_one(store)
    assert await made.figures() is first
