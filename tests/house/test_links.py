"""Pages lead to one another: no link is dead, no anchor missing, and the first page leads to every other."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ROOT / "docs/README.md"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
]


def links(text: str) -> Iterator[tuple[str, str]]:
    """The path and the anchor of every link into the project; what is code is no link."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


def anchors(text: str) -> set[str]:
    """What headings are called in addresses, as GitHub makes it of them."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = (
        re.sub(r"\[(.*?)\]\(.*?\)", r"\1", found) for found in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for path, anchor in links(text):
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            found.append(path)
        elif anchor and anchor not in anchors(target.read_text() if path else text):
            found.append(f"{path}#{anchor}")
    return found


def reached(first: Path) -> set[Path]:
    """All pages that a page leads to, by way of others too."""
    seen, waiting = {first}, [first]
    while waiting:
        page = waiting.pop()
        near = {(page.parent / path).resolve() for path, _ in links(page.read_text()) if path.endswith(".md")}
        waiting += near - seen
        seen |= near
    return seen


def test_no_link_is_dead() -> None:
    found = {str(page.relative_to(ROOT)): dead(page, page.read_text()) for page in PAGES}
    assert {page: links for page, links in found.items() if links} == {}


def test_the_first_page_leads_to_every_page() -> None:
    everything = set((ROOT / "docs").rglob("*.md"))
    assert everything - reached(FIRST) == set()


def test_the_readme_leads_to_the_first_page_and_to_the_tutorial() -> None:
    paths = {path for path, _ in links((ROOT / "README.md").read_text())}
    assert {"docs/README.md", "docs/tutorial.md", "docs/explanation/guarantees.md"} <= paths


def test_a_dead_link_and_a_missing_anchor_are_found() -> None:
    assert (
        dead(FIRST, "[a](tutorial.md) [b](tutorial.md#install) [c](#c) [d](https://example.com/x#y)\n# C")
        == []
    )
    assert dead(FIRST, "`[a](nowhere.md)`\n```sh\n[b](nowhere.md)\n```\n") == []
    assert dead(FIRST, "[a](nowhere.md)") == ["nowhere.md"]
    assert dead(FIRST, "[a](tutorial.md#nowhere) [b](#nowhere)") == ["tutorial.md#nowhere", "#nowhere"]


def test_the_first_page_names_every_page_once() -> None:
    """Decisions have a list of their own."""
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"} - {FIRST}
    named = [(FIRST.parent / path).resolve() for path, _ in links(FIRST.read_text())]
    assert sorted(page for page in named if page in pages) == sorted(pages)
