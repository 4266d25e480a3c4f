"""What a run beside rivals is turned into: the tables of the page and of the README, and the chart."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from bench import chart, report, rivals, rivals_report
from bench.figures import Measured, Report, Round, Speed, figure_of
from bench.goals import RIVAL_GOALS
from bench.peers import installing
from bench.peers.catalogue import DURABILITY, NODE, RIVALS
from bench.rivals_rows import DRAINS, ROWS


def told(**changed: object) -> Report:
    """A full run in which Tenure drains twice as fast as each rival, and every other goal is just met."""
    rows = {name: Measured() for name in ROWS}
    for group, (ours, keys) in DRAINS.items():
        for key in keys:
            theirs = next(peer for peer in RIVALS if peer.key == key)
            rows[f"{group}-{key}"] = Measured(
                [figure_of(f"drain-{group}-beside-{key}", [2.0])],
                [
                    Speed(f"drain {group}: {ours.title}", [Round(2000, 1.0, 0.5, 0.5)]),
                    Speed(f"drain {group}: {theirs.title}", [Round(1000, 1.0, 0.5, 0.25)]),
                ],
            )
    others = [(name, goal) for name, goal in RIVAL_GOALS.items() if not name.startswith("drain")]
    rows["latency"] = Measured([figure_of(name, [goal.must]) for name, goal in others])
    given: dict[str, object] = {"machine": {"processors": "2"}, "quick": False, "seconds": 9.0, "rows": rows}
    return Report(**{**given, **changed})  # type: ignore[arg-type]  # the fields are spelled out above


def test_every_rival_is_told_of_with_its_durability_and_what_it_keeps() -> None:
    lines = rivals_report.markdown(told()).splitlines()
    for peer in RIVALS:
        assert any(
            peer.title in line and DURABILITY[peer.store] in line and peer.keeps in line for line in lines
        ), peer.key


def test_memory_is_told_as_it_was_looked_at() -> None:
    rows = {**told().rows, "memory": Measured([figure_of("memory", [50.0, 51.25], unit="MiB", of="looks")])}
    assert "MiB after every tenth: 50.0 · 51.2." in rivals_report.markdown(told(rows=rows))


def test_starts_at_a_pace_are_told_beside_all_who_were_measured() -> None:
    times = {"tenure": 2.0, "tenure-p99": 9.0, "pgqueuer": 3.0, "pgqueuer-p99": 11.0, "celery": 2.5}
    figures = [figure_of(f"pace-15ms-{name}", [value], unit="ms", of="jobs") for name, value in times.items()]
    run = told(rows={**told().rows, "pace-15ms": Measured(figures)})
    table = (
        rivals_report.markdown(run).partition("### Start of jobs that come at a pace")[2].partition("###")[0]
    )
    assert "| 15 ms | Tenure | 2.0 ms | 9.0 ms |" in table
    assert "| 15 ms | PgQueuer | 3.0 ms | 11.0 ms |" in table
    assert "Celery" not in table  # a half of its figures is no figure
    drawn = ElementTree.fromstring(rivals_report.picture_of_paces(run))  # noqa: S314  # it is our own
    bars = [(shape.get("class"), shape.get("width")) for shape in drawn.iter() if shape.tag.endswith("rect")]
    assert bars == [("ours", "173.3"), ("bar", "260.0")]


def test_our_rounds_beside_several_rivals_are_one_line() -> None:
    page = rivals_report.markdown(told())
    table = page.partition("### Drain, lane `async`, one worker, PostgreSQL")[2].partition("###")[0]
    assert table.count("**Tenure**") == 1
    assert "| PgQueuer | 1,000 | 2.00 × | 0.750 |" in table


def test_tables_and_chart_are_written_where_they_belong(tmp_path: Path) -> None:
    page, readme, picture, paces = (
        tmp_path / name for name in ("page.md", "README.md", "one.svg", "two.svg")
    )
    page.write_text(report.PAGE.read_text())
    readme.write_text(rivals_report.README.read_text())
    rivals_report.write(told(), page=page, readme=readme, picture=picture, paces=paces)
    assert rivals_report.markdown(told()) in page.read_text()
    assert rivals_report.short(told()) in readme.read_text()
    assert picture.read_text() == rivals_report.picture_of(told())
    assert paces.read_text() == rivals_report.picture_of_paces(told())
    for changed, original in ((page, report.PAGE), (readme, rivals_report.README)):
        assert _outside(changed) == _outside(original)


@pytest.mark.parametrize(
    "run",
    [told(quick=True), told(rows={}), told(failures={"limit": "the server is gone"})],
    ids=["quick", "partial", "failed"],
)
def test_the_page_takes_a_full_run_only(
    run: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report.save(run, tmp_path / "run.json")
    assert rivals.main(["--read", str(tmp_path / "run.json"), "--write-docs"]) == 2
    assert "full run only" in capsys.readouterr().err


def test_a_rival_that_could_not_be_had_is_named_and_keeps_no_figures_from_the_page(tmp_path: Path) -> None:
    rows = {**told().rows, "process-rq": Measured(remarks=["rq is not set up here"])}
    page = rivals_report.markdown(told(rows=rows))
    assert "**Not measured:** rq is not set up here" in page
    assert "| RQ |" not in page


def test_runs_that_were_measured_apart_are_told_of_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    report.save(told(failures={"limit": "the server is gone"}), one)
    report.save(told(rows={"limit": Measured(remarks=["measured later"])}), two)
    whole = report.load_all([one, two])
    assert whole == replace(
        told(), seconds=18.0, rows={**told().rows, "limit": Measured(remarks=["measured later"])}
    )


def test_the_chart_is_xml_with_a_bar_for_each_and_ours_told_apart() -> None:
    bars = [chart.Bar("<fast>", 2000, "keeps & tells"), chart.Bar("ours", 1000, "", is_ours=True)]
    drawn = ElementTree.fromstring(chart.drawn("jobs", bars))  # noqa: S314  # it is our own
    shapes = [each for each in drawn.iter() if each.tag.endswith("rect")]
    assert [(shape.get("class"), shape.get("width")) for shape in shapes] == [
        ("bar", "260.0"),
        ("ours", "130.0"),
    ]
    assert "prefers-color-scheme: dark" in chart.drawn("jobs", bars)


def test_every_rival_is_pinned() -> None:
    assert all(installing.version(peer.script, peer.package) for peer in RIVALS)
    assert {peer.script for peer in RIVALS} == set(installing.environments())
    assert f"pg-boss {installing.version(NODE, 'pg-boss')}" in rivals_report.versions()


def test_rows_are_chosen_by_name_or_by_how_they_begin(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = rivals.rows("warm,limit,async-dbos")
    assert chosen == ["warm-celery", "warm-dramatiq", "warm-huey", "limit", "async-dbos"]
    with pytest.raises(SystemExit):
        rivals.main(["--rows", "warm,lukewarm"])
    assert "there is no row 'lukewarm'; rows are async-pgqueuer" in capsys.readouterr().err


def test_where_nothing_is_set_up_the_run_says_so_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(installing.VARIABLE, str(tmp_path))
    assert rivals.main(["--quick", "--rows", "process-rq", "--check"]) == 0
    said = capsys.readouterr().out
    assert "not measured: RQ: rq is not set up here: run `python -m bench.rivals --setup`" in said


def _outside(page: Path) -> list[str]:
    return re.split("<!-- riva[a-z ]+: (?:begin|end) -->", page.read_text())[::2]
