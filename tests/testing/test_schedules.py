"""Schedules in a harness: `advance` goes to each tick, and what fires is run there."""

import re
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tenure import Context, State, Tenure
from tenure.testing import Endless, harness, shift

PAGE = (Path(__file__).parents[2] / "docs/how-to/schedules.md").read_text()


def test_a_nightly_schedule_makes_its_job_when_the_night_passes() -> None:
    """S1.65: by the clock of the test and the zone of the schedule; over a change of clocks, too."""
    app = Tenure("sqlite:///no-test-may-make-this-file.db")
    ran: list[tuple[datetime, str]] = []

    @app.job("report.build")
    def build(params: dict[str, str], ctx: Context) -> None:
        ran.append((t.now, params["of"]))

    build.schedule("nightly", {"of": "the day"}, cron="30 2 * * *", timezone="Europe/Berlin")
    with harness(app, at=datetime(2026, 3, 27, 12, tzinfo=UTC)) as t:
        assert t.drain() == 0
        assert t.advance("13h") == 0
        assert t.advance("1h") == 1
        assert t.advance("2d") == 2
        assert [at for at, _ in ran] == [
            datetime(2026, 3, 28, 1, 30, tzinfo=UTC),
            datetime(2026, 3, 29, 1, 0, tzinfo=UTC),  # 02:30 is skipped, and 03:00 is the first time after it
            datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
        ]
        assert [job.state for job in t.jobs(build)] == [State.SUCCEEDED] * 3
        t.assert_enqueued(build, {"of": "the day"}, times=3)


def test_a_schedule_that_fires_too_often_for_one_step_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shift, "MOST_ROUNDS", 20)
    app = Tenure("sqlite:///no-test-may-make-this-file.db")
    beat = app.job("beat")(lambda: None)
    beat.schedule("often", every=1)
    with harness(app) as t:
        with pytest.raises(Endless, match=r"after 20 rounds .*beat@1 goes on.*advance by less at a time$"):
            t.advance("1m")
        assert t.advance("10s") == 10


def test_a_schedule_that_is_declared_within_a_test_fires_from_then_on() -> None:
    app = Tenure("sqlite:///no-test-may-make-this-file.db")

    @app.job("stock.count")
    def count() -> None: ...

    with harness(app, at=datetime(2026, 1, 1, tzinfo=UTC)) as t:
        assert t.advance("1h") == 0
        count.schedule("often", every=timedelta(minutes=10), remaining=4)
        assert t.advance("30m") == 3
        assert t.advance("1h") == 1


def test_the_program_of_the_page_makes_jobs_by_the_clock(tmp_path: Path) -> None:
    program = tmp_path / "jobs.py"
    program.write_text(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0])
    with harness(runpy.run_path(str(program))["app"], at=datetime(2030, 1, 1, 0, 1, tzinfo=UTC)) as t:
        t.advance("24h")
        fired = [job.params["of"] for job in t.jobs("report.build", state="succeeded")]
    assert (fired.count("day"), fired.count("now")) == (1, 24 * 4)
