"""What is told of a run: the table in the documentation, and the status for scripts."""

import re
from pathlib import Path

import pytest

from bench import report, storage
from bench.figures import Measured, Report, Round, Speed, figure_of
from bench.goals import GOALS, WORKER_GOALS
from bench.rivals_rows import LONG_ROWS
from bench.rivals_rows import ROWS as RIVAL_ROWS
from bench.rows import ROWS
from bench.worker_rows import ROWS as WORKER_ROWS

SPEEDS = [Speed("a loop", [Round(jobs=100, seconds=0.5, client_cpu=0.001, server_cpu=None)])]


def told(worse: float = 0.0, **changed: object) -> Report:
    """A full run in which each figure is exactly what it must be, or worse by a part of that."""
    figures = [
        figure_of(name, [goal.must * (1 - worse if goal.more_is_better else 1 + worse)])
        for name, goal in GOALS.items()
    ]
    given: dict[str, object] = {
        "machine": {"processors": "2"},
        "quick": False,
        "seconds": 60.0,
        "rows": {"all": Measured(figures, SPEEDS)},
    }
    return Report(**{**given, **changed})  # type: ignore[arg-type]  # the fields are spelled out above


def test_what_was_saved_is_read_back(tmp_path: Path) -> None:
    report.save(told(), tmp_path / "figures.json")
    assert report.load(tmp_path / "figures.json") == told()


def test_a_figure_below_its_must_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, run, status in (("good", told(), 0), ("bad", told(worse=0.01), 1)):
        file = tmp_path / f"{name}.json"
        report.save(run, file)
        assert storage.main(["--read", str(file), "--check"]) == status
        assert capsys.readouterr().out.count("BELOW") == status * len(GOALS)


def test_a_row_that_failed_fails_the_run(tmp_path: Path) -> None:
    report.save(told(failures={"backlog": "the server is gone"}), tmp_path / "figures.json")
    assert storage.main(["--read", str(tmp_path / "figures.json")]) == 1


def test_the_tables_go_between_the_markers_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(report.PAGE.read_text())
    report.write_page(told(), page)
    report.write_page(told(), page)
    before, between, after = re.split("<!-- figures: (?:begin|end) -->", page.read_text())
    assert between.strip() == report.markdown(told()).strip()
    assert page.read_text().replace(between, "") == before + report.STORAGE.begin + report.STORAGE.end + after
    assert report.PAGE.read_text().startswith(before)
    assert report.PAGE.read_text().endswith(after)


@pytest.mark.parametrize(
    "run",
    [told(quick=True), told(rows={}), told(failures={"backlog": "the server is gone"})],
    ids=["quick", "partial", "failed"],
)
def test_the_page_takes_a_full_run_only(run: Report, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(report.PAGE.read_text())
    with pytest.raises(ValueError, match="full run only"):
        report.write_page(run, page)
    assert page.read_text() == report.PAGE.read_text()


def test_the_page_explains_every_row() -> None:
    explained = set(re.findall(r"`([a-z-]+)`", report.PAGE.read_text()))
    groups = {row.partition("-")[0] for row in (*RIVAL_ROWS, *LONG_ROWS)}
    assert set(ROWS) | set(WORKER_ROWS) | groups <= explained


def test_each_bench_writes_between_its_own_markers(tmp_path: Path) -> None:
    figures = [figure_of(name, [goal.must]) for name, goal in WORKER_GOALS.items()]
    run = told(rows={"all": Measured(figures, SPEEDS)})
    page = tmp_path / "page.md"
    page.write_text(report.PAGE.read_text())
    report.write_page(run, page, section=report.WORKER)
    section = report.WORKER
    before, rest = report.PAGE.read_text().split(section.begin)
    _, after = rest.split(section.end)
    tables = report.markdown(run, section)
    assert page.read_text() == f"{before}{section.begin}\n\n{tables}\n{section.end}{after}"


def test_there_is_a_place_for_the_tables_of_every_bench(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(report.PAGE.read_text())
    sections = [one for one in vars(report).values() if isinstance(one, report.Section)]
    assert len(sections) >= 7
    for section in sections:
        report.put("\ntables\n", page, section)
    assert page.read_text().count("\ntables\n") == len(sections)


def test_what_could_not_be_measured_is_told_and_fails_nothing(tmp_path: Path) -> None:
    run = told(rows={"process-rq": Measured(remarks=["there is no redis-server"])})
    assert "**Not measured:** there is no redis-server" in report.markdown(run, report.WORKER)
    assert report.check(run, report.WORKER) == (["not measured: there is no redis-server"], True)
