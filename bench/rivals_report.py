"""A run beside rivals as the tables of the page and of the README, and as the chart there: from its JSON."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import chart, report
from bench.figures import Report, Round
from bench.goals import PACES, RIVAL_GOALS
from bench.pace_rows import BESIDE
from bench.peers import installing
from bench.peers.catalogue import DURABILITY, RIVALS, Peer
from bench.rivals_rows import BY_KEY, DRAINS, ON_POSTGRES, ROWS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CHART = ROOT / "docs/reference/rivals.svg"
PACE_CHART = ROOT / "docs/reference/rivals-pace.svg"
SECTION = report.Section("rival figures", RIVAL_GOALS)
IN_README = report.Section("rivals", RIVAL_GOALS)
HEADS = {
    "async": "Drain, lane `async`, one worker, PostgreSQL",
    "sqlite": "Drain, lane `async`, one worker, SQLite",
    "warm": "Drain, lane `warm`, two child processes",
    "process": "Drain, lane `process`, two at once, a fresh process for every job",
}
OURS = "Tenure"
CALLS = {"singly": "Enqueue one by one (ours with an idempotency key)", "bulk": "Enqueue a thousand a call"}


class Line(NamedTuple):
    """One product's rounds at one thing; ratio is how many times as fast ours was in the same pairs."""

    peer: Peer
    rounds: list[Round]
    ratio: float | None

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return median(each.jobs / each.seconds for each in self.rounds)

    @property
    def cpu(self) -> str:
        """Seconds for a thousand jobs, of worker and server."""
        spent = [
            1e3 * (each.client_cpu + (each.server_cpu or 0.0)) / each.jobs
            for each in self.rounds
            if each.client_cpu is not None
        ]
        return f"{median(spent):.3f}" if spent else "–"

    @property
    def cells(self) -> tuple[str, ...]:
        """What every table tells of it."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f} ×"
        store = f"{self.peer.store}: {DURABILITY[self.peer.store]}"
        return (self.peer.title, f"{self.rate:,.0f}", ratio, self.cpu, store, self.peer.keeps)


def markdown(told: Report) -> str:
    """Goals, then every product beside the others, then how each was arranged."""
    parts = [report.surroundings(told), report.beside_goals(told, SECTION)]
    head = (
        "",
        "jobs a second",
        "ours / theirs",
        "CPU s a thousand",
        "a job that was accepted",
        "left of one that succeeded",
    )
    for work, groups in (("drain", HEADS), ("enqueue", CALLS)):
        for group, title in groups.items():
            if lines := list(_lines(told, work, group)):
                parts += [f"### {title}\n", report.table(head, (line.cells for line in lines))]
    if starts := list(_starts(told)):
        parts += ["### Start of a job, worker idle, PostgreSQL\n", report.table(("", "p50", "p99"), starts)]
    if paces := list(_paces(told)):
        starts = [(pace, title, f"{middle:.1f} ms", f"{late:.1f} ms") for pace, title, middle, late in paces]
        parts += [
            "### Start of jobs that come at a pace, one caller\n",
            f"![Milliseconds from the call of enqueue to the first line, by pace]({PACE_CHART.name})\n",
            report.table(("a job every", "", "p50", "p99"), starts),
        ]
    if sizes := told.figures.get("memory"):
        each = " · ".join(f"{size:.1f}" for size in sizes.samples)
        parts += ["### Memory of a worker, lane `async`, PostgreSQL\n", f"MiB after every tenth: {each}.\n"]
    arranged = [(peer.title, peer.store, peer.tuned) for peer in _measured(told)]
    if arranged:
        parts += ["### How each is arranged\n", report.table(("", "store", "worker"), arranged)]
    return "\n".join([*parts, *report.missing(told)])


def write(
    told: Report,
    *,
    page: Path = report.PAGE,
    readme: Path = README,
    picture: Path = CHART,
    paces: Path = PACE_CHART,
) -> None:
    """Put everything where it belongs. A rival that could not be had may be missing, a row may not."""
    left_out = [name for name in ROWS if name not in told.rows]
    if told.quick or left_out or told.failures:
        raise ValueError(f"the page takes a full run only; quick: {told.quick}, missing: {left_out}")
    report.put(f"\n{markdown(told)}\n", page, SECTION)
    report.put(f"\n{short(told)}\n", readme, IN_README)
    picture.write_text(picture_of(told), encoding="utf-8")
    paces.write_text(picture_of_paces(told), encoding="utf-8")


def short(told: Report) -> str:
    """Every drain beside its rival, in a few words."""
    head = ("drain", "Tenure", "beside", "", "ratio", "its accepted jobs", "it keeps")
    rows = []
    for group, title in HEADS.items():
        lines = list(_lines(told, "drain", group))
        rows += [
            (
                title.removeprefix("Drain, "),
                f"{lines[0].rate:,.0f} a second",
                line.peer.title,
                f"{line.rate:,.0f} a second",
                "" if line.ratio is None else f"**{line.ratio:.2f} ×**",
                f"{line.peer.store}: {DURABILITY[line.peer.store]}",
                line.peer.keeps,
            )
            for line in lines[1:]
        ]
    return f"![Jobs a second beside rivals]({CHART.relative_to(ROOT)})\n\n{report.table(head, rows)}"


def picture_of(told: Report) -> str:
    """The drains on PostgreSQL as bars."""
    lines = sorted(_lines(told, "drain", "async"), key=lambda line: -line.rate)
    bars = [
        chart.Bar(line.peer.title.strip("*"), line.rate, f"keeps {line.peer.keeps}", line.peer.is_ours)
        for line in lines
    ]
    return chart.drawn("Jobs a second, one worker, PostgreSQL, every commit synced", bars)


def picture_of_paces(told: Report) -> str:
    """How soon jobs start, by how often they come."""
    bars = [
        chart.Bar(f"{pace}: {title}", middle, f"p99 {late:.1f} ms", title == OURS, places=1)
        for pace, title, middle, late in _paces(told)
    ]
    return chart.drawn("Milliseconds from the call of enqueue to the first line, p50, a job every …", bars)


def versions() -> str:
    """Of all rivals, as they are pinned."""
    known = {f"{peer.package} {installing.version(peer.script, peer.package)}": None for peer in RIVALS}
    return ", ".join(known)


def _lines(told: Report, work: str, group: str) -> Iterator[Line]:
    """Ours first; what was measured in several rows is taken together."""
    rounds: dict[str, list[Round]] = {}
    for measured in told.rows.values():
        for speed in measured.speeds:
            what, _, title = speed.what.partition(": ")
            if what == f"{work} {group}":
                rounds.setdefault(title, []).extend(speed.rounds)
    ours, keys = (
        DRAINS[group] if work == "drain" else (DRAINS["async"][0], [peer.key for peer in ON_POSTGRES])
    )
    if ours.title in rounds:
        yield Line(ours, rounds[ours.title], None)
    for peer in (BY_KEY[key] for key in keys):
        if peer.title in rounds:
            figure = told.figures.get(f"{work}-{group}-beside-{peer.key}")
            yield Line(peer, rounds[peer.title], figure.value if figure else None)


def _starts(told: Report) -> Iterator[tuple[str, ...]]:
    for name, title in [
        ("async", DRAINS["async"][0].title),
        *((peer.key, peer.title) for peer in ON_POSTGRES),
    ]:
        middle, late = (told.figures.get(f"start-latency-{name}{end}") for end in ("", "-p99"))
        if middle and late:
            yield (title, f"{middle.value:.1f} ms", f"{late.value:.1f} ms")


def _paces(told: Report) -> Iterator[tuple[str, str, float, float]]:
    """Each pace and product with its p50 and p99 in milliseconds."""
    titles = {"tenure": OURS, **{key: peer.title for key, peer in BESIDE.items()}}
    for pace, seconds in PACES.items():
        for key, title in titles.items():
            middle, late = (told.figures.get(f"pace-{pace}-{key}{end}") for end in ("", "-p99"))
            if middle and late:
                yield f"{seconds * 1e3:,.0f} ms", title, middle.value, late.value


def _measured(told: Report) -> Iterator[Peer]:
    for group in DRAINS:
        for line in _lines(told, "drain", group):
            yield line.peer
