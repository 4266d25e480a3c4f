"""A run as Markdown, as JSON, and as the table in the documentation; all of them are made from the JSON."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.figures import Figure, Report, Speed
from bench.goals import (
    GOALS,
    GROWTH_GOALS,
    HTTP_GOALS,
    MESSAGE_GOALS,
    PAGE_GOALS,
    SCHEDULE_GOALS,
    WEBHOOK_GOALS,
    WORKER_GOALS,
    Goal,
)

PAGE = Path(__file__).parent.parent / "docs/reference/benchmarks.md"


class Section(NamedTuple):
    """A bench's part of the page: the words of its markers, and the goals that its table begins with."""

    marker: str
    goals: dict[str, Goal]

    @property
    def begin(self) -> str:
        """The line above the tables."""
        return f"<!-- {self.marker}: begin -->"

    @property
    def end(self) -> str:
        """The line below them."""
        return f"<!-- {self.marker}: end -->"


STORAGE = Section("figures", GOALS)
WORKER = Section("worker figures", WORKER_GOALS)
HTTP = Section("http figures", HTTP_GOALS)
PAGES = Section("page figures", PAGE_GOALS)
SCHEDULES = Section("schedule figures", SCHEDULE_GOALS)
WEBHOOKS = Section("webhook figures", WEBHOOK_GOALS)
MESSAGES = Section("message figures", MESSAGE_GOALS)
GROWTH = Section("growth figures", GROWTH_GOALS)


def save(report: Report, path: Path) -> None:
    """Write the raw figures."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def load(path: Path) -> Report:
    """Read raw figures back."""
    return msgspec.json.decode(path.read_bytes(), type=Report)


def load_all(paths: list[Path]) -> Report:
    """Several runs as one; what was measured twice is taken from the later one."""
    whole, *others = [load(path) for path in paths]
    for run in others:
        failures = {name: reason for name, reason in whole.failures.items() if name not in run.rows}
        whole = msgspec.structs.replace(
            whole,
            quick=whole.quick or run.quick,
            seconds=whole.seconds + run.seconds,
            rows={**whole.rows, **run.rows},
            failures={**failures, **run.failures},
        )
    return whole


def markdown(report: Report, section: Section = STORAGE) -> str:
    """The figures beside their targets, then everything else that was measured."""
    found = report.figures
    others = [figure for name, figure in found.items() if name not in section.goals]
    parts = [surroundings(report), beside_goals(report, section)]
    if others:
        rows = [
            (figure.name, _value(figure.value, figure.unit), _quartiles(figure, figure.unit))
            for figure in others
        ]
        parts.append(table(("without a target", "measured", "quartiles"), rows))
    speeds = [speed for measured in report.rows.values() for speed in measured.speeds]
    if speeds:
        head = ("work", "a second", "one takes", "client CPU each", "server CPU each", "rounds")
        parts.append(table(head, [_speed_row(speed) for speed in speeds]))
    return "\n".join([*parts, *missing(report)])


def surroundings(report: Report) -> str:
    """What the figures depend on."""
    facts = "; ".join(f"{name} {value}" for name, value in report.machine.items())
    quick = "A QUICK RUN: the figures mean nothing. " if report.quick else ""
    return f"{quick}Measured in {report.seconds:.0f} s on: {facts}.\n"


def beside_goals(report: Report, section: Section) -> str:
    """The figures that have goals, beside them."""
    return table(
        ("figure", "measured", "quartiles", "must", "stretch", "reached"),
        [_goal_row(goal, report.figures.get(name)) for name, goal in section.goals.items()],
    )


def missing(report: Report) -> list[str]:
    """What was not measured, and why."""
    return [
        *(f"**Not measured:** {remark}\n" for remark in report.remarks),
        *(f"**{name} was not measured:** {reason}\n" for name, reason in report.failures.items()),
    ]


def check(report: Report, section: Section = STORAGE) -> tuple[list[str], bool]:
    """A line for each goal of the rows that were run, and whether all of them are as good as they must be."""
    lines, good = [], not report.failures
    for name, goal in section.goals.items():
        figure = report.figures.get(name)
        if figure is None:
            continue
        met = goal.is_met(figure.value)
        good = good and met
        measured, must, stretch = (
            _value(each, goal.unit) for each in (figure.value, goal.must, goal.stretch)
        )
        lines.append(f"{name}: {measured}, must {must}, stretch {stretch}: {'ok' if met else 'BELOW'}")
    lines += [f"not measured: {remark}" for remark in report.remarks]
    lines += [f"{name}: not measured: {reason}" for name, reason in report.failures.items()]
    return lines, good


def write_page(report: Report, page: Path = PAGE, *, section: Section = STORAGE) -> None:
    """Put the tables between the markers of the page. Only a full run has figures that are worth it."""
    missing = [name for name in section.goals if name not in report.figures]
    if report.quick or missing or report.failures:
        raise ValueError(f"the page takes a full run only; quick: {report.quick}, missing: {missing}")
    put(f"\n{markdown(report, section)}\n", page, section)


def put(text: str, page: Path, section: Section) -> None:
    """Replace what stands between the markers of a page."""
    begin, end = section.begin, section.end
    between = re.compile(f"(?<={re.escape(begin)}\n).*?(?=^{re.escape(end)}$)", re.DOTALL | re.MULTILINE)
    whole, replaced = between.subn(lambda _: text, page.read_text(encoding="utf-8"))
    if replaced != 1:
        raise ValueError(f"{page} must have the lines {begin} and {end} once")
    page.write_text(whole, encoding="utf-8")


def _goal_row(goal: Goal, figure: Figure | None) -> tuple[str, ...]:
    must, stretch = _value(goal.must, goal.unit), _value(goal.stretch, goal.unit)
    sign = "≥" if goal.more_is_better else "≤"
    targets = (f"{sign} {must}", f"{sign} {stretch}")
    if figure is None:
        return (goal.what, "–", "", *targets, "not measured")
    reached = (
        "stretch" if goal.is_stretched(figure.value) else "must" if goal.is_met(figure.value) else "**below**"
    )
    return (goal.what, _value(figure.value, goal.unit), _quartiles(figure, goal.unit), *targets, reached)


def _quartiles(figure: Figure, unit: str = "") -> str:
    if len(figure.samples) == 1:
        return "one run"
    disturbed = f", {figure.disturbed} disturbed" if figure.disturbed else ""
    spread = f"{_value(figure.low, unit)} – {_value(figure.high, unit)}"
    return f"{spread} ({len(figure.samples)} {figure.of}{disturbed})"


def _speed_row(speed: Speed) -> tuple[str, ...]:
    return (
        speed.what,
        f"{speed.rate:,.0f} {speed.of}",
        _micros(1e6 / speed.rate),
        _micros(speed.client_micros),
        _micros(speed.server_micros),
        str(len(speed.rounds)),
    )


def _micros(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f} µs"


def _value(value: float, unit: str) -> str:
    return f"{value / 1000:.2f} kB" if unit == "B" else f"{value:.2f} {unit}".rstrip()


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Rows in Markdown."""
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
