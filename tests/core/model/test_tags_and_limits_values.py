"""Tags, limits, filters and what operators say: each value checks itself when it is made."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.reports.operations import Definition, WorkerInfo
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.core.values.bounds import CALENDAR, HORIZON, LARGEST_BATCH, LARGEST_LIMIT, MOST_LIMITS, MOST_TAGS
from tenure.core.values.documents import EMPTY

TICK = timedelta(microseconds=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BAD_NAMES = ["", " ", "a b", "-a", "a/b", "é", "a\n", "a\x00", "x" * 121]
WORKER = {"id": "w", "host": "h", "pid": 1, "version": "1", "slots": 1, "lines": (Line("default", "a"),)}


def refused(make: type, **fields: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        make(**fields)
    return caught.value.field


class TestTags:
    @pytest.mark.parametrize("tag", BAD_NAMES, ids=ascii)
    def test_what_is_not_a_name_is_no_tag(self, tag: str) -> None:
        assert refused(NewJob, definition="a", tags=("fine", tag)) == "tags"

    def test_a_text_is_not_taken_for_a_list_of_letters(self) -> None:
        assert refused(NewJob, definition="a", tags="urgent") == "tags"

    def test_a_job_bears_a_few_tags_and_no_more(self) -> None:
        tags = tuple(f"tag-{n}" for n in range(MOST_TAGS + 1))
        assert NewJob(definition="a", tags=tags[:-1]).tags == tags[:-1]
        assert refused(NewJob, definition="a", tags=tags) == "tags"

    def test_a_tag_is_given_once(self) -> None:
        assert refused(NewJob, definition="a", tags=("red", "blue", "red")) == "tags"
        assert NewJob(definition="a", tags=("red", "Red")).tags == ("red", "Red")


class TestLimits:
    def test_a_name_is_all_a_limit_needs(self) -> None:
        assert Limit("api") == Limit("api", "", 1)

    @pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
    def test_what_is_not_a_name_names_no_limit(self, name: str) -> None:
        assert refused(Limit, name=name) == "limit"

    @pytest.mark.parametrize("key", ["x" * 256, "a\nb", "\x00", "\ud800"], ids=lambda key: ascii(key)[:12])
    def test_a_key_is_printable(self, key: str) -> None:
        assert refused(NewJob, definition="mail", limits=(Limit("api", key),)) == "limit.key"

    @pytest.mark.parametrize("key", ["", "x" * 255, "Kunde Nr. 7/é"], ids=lambda key: ascii(key)[:12])
    def test_a_key_may_be_any_short_text(self, key: str) -> None:
        assert Limit("api", key).key == key

    @pytest.mark.parametrize("size", [0, -1, LARGEST_LIMIT + 1, 1.0, True, "2"], ids=ascii)
    def test_a_size_out_of_range_is_refused(self, size: Any) -> None:
        assert refused(Limit, name="api", size=size) == "limit.size"

    @pytest.mark.parametrize("size", [1, LARGEST_LIMIT])
    def test_a_size_at_the_edge_of_its_range_is_taken(self, size: int) -> None:
        assert Limit("api", size=size).size == size

    def test_a_job_runs_under_a_few_limits_and_no_more(self) -> None:
        limits = tuple(Limit("tenant", str(n)) for n in range(MOST_LIMITS + 1))
        assert NewJob(definition="a", limits=limits[:-1]).limits == limits[:-1]
        assert refused(NewJob, definition="a", limits=limits) == "limits"

    def test_a_job_takes_one_place_in_a_limit(self) -> None:
        """Whatever size it names with it."""
        assert (
            refused(NewJob, definition="a", limits=(Limit("api", "k", 1), Limit("api", "k", 2))) == "limits"
        )
        assert NewJob(definition="a", limits=(Limit("api", "k"), Limit("api", "l"))).limits


class TestFilter:
    def test_an_empty_filter_narrows_nothing(self) -> None:
        which = Filter()
        assert which.states == frozenset()
        assert {getattr(which, field) for field in Filter.__struct_fields__[1:]} == {None}

    @pytest.mark.parametrize("field", ["definition", "queue", "tag", "namespace"])
    @pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
    def test_a_name_that_nothing_can_have_is_refused(self, field: str, name: str) -> None:
        assert refused(Filter, **{field: name}) == field

    @pytest.mark.parametrize("version", [0, -1, 2**31, True], ids=ascii)
    def test_a_version_that_nothing_can_have_is_refused(self, version: int) -> None:
        assert refused(Filter, version=version) == "version"

    @pytest.mark.parametrize("field", ["created_after", "created_before"])
    def test_a_time_without_its_zone_is_refused(self, field: str) -> None:
        assert refused(Filter, **{field: NOON.replace(tzinfo=None)}) == field

    @pytest.mark.parametrize("field", ["created_after", "created_before"])
    @pytest.mark.parametrize("moment", [CALENDAR[0] - TICK, CALENDAR[1] + TICK])
    def test_a_time_outside_the_calendar_is_refused(self, field: str, moment: datetime) -> None:
        assert refused(Filter, **{field: moment}) == field

    @pytest.mark.parametrize("field", ["created_after", "created_before"])
    def test_a_filter_takes_the_whole_calendar(self, field: str) -> None:
        for moment in CALENDAR:
            filters: dict[str, Any] = {field: moment}
            assert getattr(Filter(**filters), field) == moment

    def test_a_filter_may_name_every_state(self) -> None:
        assert Filter(states=frozenset(State)).states == set(State)


class TestRetention:
    def test_success_is_kept_for_a_week_and_the_rest_for_a_month(self) -> None:
        kept = Retention()
        assert (kept.succeeded.days, kept.others.days, kept.keyed.days) == (7, 30, 7)

    @pytest.mark.parametrize("field", ["succeeded", "others", "keyed"])
    @pytest.mark.parametrize("length", [-TICK, HORIZON + TICK])
    def test_a_time_out_of_range_is_refused(self, field: str, length: timedelta) -> None:
        assert refused(Retention, **{field: length}) == field

    @pytest.mark.parametrize("field", ["succeeded", "others", "keyed"])
    @pytest.mark.parametrize("length", [timedelta(0), HORIZON])
    def test_a_time_at_the_edge_of_its_range_is_taken(self, field: str, length: timedelta) -> None:
        lengths: dict[str, Any] = {field: length}
        assert getattr(Retention(**lengths), field) == length


class TestWorker:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("id", ""),
            ("id", "x" * 256),
            ("id", "a\nb"),
            ("host", "x" * 256),
            ("host", "\x00"),
            ("version", "\ud800"),
            ("pid", -1),
            ("pid", 2**31),
            ("slots", -1),
            ("slots", LARGEST_BATCH + 1),
            ("slots", 1.5),
        ],
        ids=lambda part: ascii(part)[:24],
    )
    def test_a_field_that_cannot_be_stored_is_refused_by_name(self, field: str, value: object) -> None:
        assert refused(WorkerInfo, **{**WORKER, field: value}) == field

    def test_a_worker_may_serve_nothing_yet(self) -> None:
        fields: dict[str, Any] = {**WORKER, "lines": (), "slots": 0, "host": "", "version": ""}
        assert WorkerInfo(**fields).lines == ()


class TestDefinition:
    @pytest.mark.parametrize(
        ("field", "value"), [("key", "a b"), ("version", 0), ("version", 2**31), ("registered_by", "a\nb")]
    )
    def test_a_field_that_cannot_be_stored_is_refused_by_name(self, field: str, value: object) -> None:
        assert refused(Definition, **{"key": "mail", "version": 1, "spec": EMPTY, field: value}) == field
