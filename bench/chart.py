"""Bars as an SVG that can be read on a light and on a dark page."""

from html import escape
from typing import NamedTuple

WIDTH, LEFT, ROW, TOP = 820, 190, 30, 44
LONGEST = 260
"""Pixels of the longest bar; right of it there is room for its figure and its note."""

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 14px }
  .note { fill: #57606a; font-size: 12px }
  .bar { fill: #8c959f }
  .ours { fill: #1a7f64 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .bar { fill: #6e7681 }
    .ours { fill: #3fb68b }
  }
"""


class Bar(NamedTuple):
    """A name, its figure, and what is to be known beside it."""

    name: str
    value: float
    note: str
    is_ours: bool = False
    places: int = 0
    """Digits behind the point of its figure."""

    @property
    def figure(self) -> str:
        return f"{self.value:,.{self.places}f}"


def drawn(title: str, bars: list[Bar]) -> str:
    """The whole file."""
    height = TOP + ROW * len(bars) + 8
    most = max((bar.value for bar in bars), default=1.0)
    said = f"{title}: " + ", ".join(f"{bar.name} {bar.figure}" for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(said)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="12" y="24">{escape(title)}</text>',
        *(_row(bar, TOP + ROW * place, LONGEST * bar.value / most) for place, bar in enumerate(bars)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _row(bar: Bar, top: int, length: float) -> str:
    kind = "ours" if bar.is_ours else "bar"
    middle, end = top + 15, LEFT + length
    return (
        f'<text x="{LEFT - 10}" y="{middle}" text-anchor="end">{escape(bar.name)}</text>'
        f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{length:.1f}" height="20" rx="3"/>'
        f'<text x="{end + 8:.1f}" y="{middle}">{bar.figure}'
        f'<tspan class="note" dx="8">{escape(bar.note)}</tspan></text>'
    )
