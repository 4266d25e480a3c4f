"""Writes the table of bounds in docs/reference/settings.md: every number that can be set, and within what."""

import re
from pathlib import Path

from msgspec import structs

from tenure.settings import BOUNDS, Settings

PAGE = Path(__file__).parent.parent / "docs/reference/settings.md"
BEGIN, END = "<!-- bounds: begin -->", "<!-- bounds: end -->"


def page(text: str) -> str:
    """The page with the table as the code has it now."""
    defaults = {field.name: field.default for field in structs.fields(Settings)}
    lines = ["| setting | default | least | most |", "|---|---|---|---|"]
    for name, (least, most) in BOUNDS.items():
        default = "" if defaults[name] is None else _number(defaults[name])
        lines.append(f"| `{name}` | {default} | {_number(least)} | {_number(most)} |")
    table = "\n".join([BEGIN, "", *lines, "", END])
    return re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: table, text, flags=re.DOTALL)


def _number(value: float) -> str:
    return f"{value:,.12g}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
