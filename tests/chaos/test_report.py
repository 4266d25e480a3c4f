"""What is told of campaigns: counts, bad runs and recoveries by fault, between the markers of a page."""

import shutil
from pathlib import Path

import msgspec
import pytest

from chaos import report
from chaos.campaign import Result, Setup, missed
from chaos.checker import Violation
from chaos.counters import MEANING
from chaos.faults.fault import Strike
from chaos.recovery import Recovery, percentile

GOOD = Result(
    setup=Setup(seed=7, store="sqlite", faults=("kill", "step")),
    jobs=100,
    took=10.0,
    strikes=[
        Strike(fault="kill", began=1.0, ended=1.0, worker="a"),
        Strike(fault="step", began=2.0, ended=2.0, worker="b", what="store.reap.before"),
    ],
    violations=[],
    counters=dict.fromkeys(MEANING, 1),
    recoveries={"kill": [Recovery(1.5, 2.25)]},
    quiet=True,
)
BAD = Result(
    setup=Setup(seed=9, store="postgres", faults=("kill",)),
    jobs=50,
    took=10.0,
    strikes=[Strike(fault="kill", began=1.0, ended=1.0, worker="a")],
    violations=[Violation("I1", None, "lost")],
    counters=dict.fromkeys(MEANING, 0),
    recoveries={},
    quiet=True,
)


def test_what_was_added_to_a_file_is_in_the_page(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "page.md"
    for result in (GOOD, BAD):
        report.append(result, results)
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_page(report.load(results), page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "2 runs with 150 jobs, seeds 7 to 9" in text
    assert "| F1 | a worker is killed at random | 1 | 1 | 1 | 1.50 / 1.50 s (1) | 2.25 / 2.25 s (1) |" in text
    [reaps] = [line for line in text.splitlines() if line.startswith("| store.reap.before |")]
    assert reaps.endswith("| 1 | 0 | 0 |")


def test_files_of_several_campaigns_add_up(tmp_path: Path) -> None:
    for name, took in (("one", 10.0), ("two", 11.0)):
        report.append(msgspec.structs.replace(GOOD, took=took), tmp_path / name)
    text = report.markdown(report.load(tmp_path / "one", tmp_path / "two"))
    assert "2 runs with 200 jobs" in text
    assert "| F1 | a worker is killed at random | 2 | 0 | 0 |" in text
    assert "kill 298, restart 100, pause 100," in text
    [reaps] = [line for line in text.splitlines() if line.startswith("| store.reap.before |")]
    assert reaps.endswith("| 2 | 0 | 0 |")


def test_a_run_that_stands_in_two_files_counts_once(tmp_path: Path) -> None:
    report.append(GOOD, tmp_path / "one")
    shutil.copy(tmp_path / "one", tmp_path / "copy")
    report.append(BAD, tmp_path / "copy")
    found = report.load(tmp_path / "one", tmp_path / "copy")
    assert [line.result for line in found] == [GOOD, BAD]


def test_runs_of_another_commit_count_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_commit", lambda: "facade")
    results = tmp_path / "results"
    assert report.of_this_commit(results) == []
    report.append(GOOD, results)
    assert report.of_this_commit(results) == [GOOD]
    other = msgspec.json.encode(report.Line("c0ffee", BAD))
    results.write_bytes(results.read_bytes() + other + b"\n")
    assert report.of_this_commit(results) == [GOOD]


@pytest.mark.parametrize("name", ["facade-dirty", "unknown"])
def test_nor_do_runs_of_what_is_in_no_commit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been other code then, by the same name."""
    monkeypatch.setattr(report, "_commit", lambda: name)
    report.append(GOOD, tmp_path / "results")
    assert report.of_this_commit(tmp_path / "results") == []


def test_a_page_without_its_markers_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(ValueError, match="must have the lines"):
        report.write_page([report.Line("c0ffee", GOOD)], page)
    assert report.PAGE.read_text().count(report.BEGIN) == report.PAGE.read_text().count(report.END) == 1


def test_runs_that_missed_what_they_owe_are_void() -> None:
    assert missed([GOOD]) == set()
    assert missed([BAD]) == {"rescue", "grace"}
    assert missed([BAD, GOOD]) == set()


def test_runs_in_which_a_fault_never_struck_are_void() -> None:
    """Whatever they hit of what it would have brought about."""
    unstruck = msgspec.structs.replace(GOOD, strikes=GOOD.strikes[:1])
    assert missed([unstruck]) == {"step"}
    assert missed([unstruck, GOOD]) == set()
    elsewhere = msgspec.structs.replace(GOOD.setup, faults=("kill", "step", "restart"))
    assert missed([msgspec.structs.replace(GOOD, setup=elsewhere)]) == set()  # a file cannot be stopped


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, None, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(100)], 0.99) == 99.0
    assert percentile([], 0.5) is None
