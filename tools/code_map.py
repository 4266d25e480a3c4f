"""Writes the packages and the picture of their imports in docs/explanation/code-map.md."""

import ast
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/tenure"
PAGE = ROOT / "docs/explanation/code-map.md"
LINK = "../../src/tenure"

FLOORS = (
    ("testing",),
    ("surfaces.cli",),
    ("surfaces.library",),
    ("assemble",),
    ("surfaces.dashboard",),
    ("surfaces.http", "surfaces.remote", "relay"),
    ("api", "telemetry"),
    ("engine",),
    ("storage", "execution"),
    ("core",),
)
"""The parts from top to bottom, as the import contracts have them."""

Edge = tuple[str, str]


def page(text: str) -> str:
    """The page with tree and picture as the code is now."""
    return _put(_put(text, "tree", "\n".join(_tree())), "picture", "\n".join(_picture()))


def _put(text: str, name: str, part: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


def rooms() -> Iterator[tuple[str, str, list[str]]]:
    """Every package with code: its dotted name below `tenure`, its sentence, and its modules."""
    for init in sorted(SOURCE.rglob("__init__.py")):
        modules = sorted(path.stem for path in init.parent.glob("*.py") if path != init)
        if init.parent != SOURCE:
            name = ".".join(init.parent.relative_to(SOURCE).parts)
            yield name, ast.get_docstring(ast.parse(init.read_text())) or "", modules


def _tree() -> Iterator[str]:
    yield "| package | what it holds | modules |"
    yield "|---|---|---|"
    for name, sentence, modules in rooms():
        path = name.replace(".", "/")
        yield f"| [`{path}`]({LINK}/{path}) | {sentence} | {' '.join(f'`{module}`' for module in modules)} |"


def _picture() -> Iterator[str]:
    graph = grimp.build_graph("tenure", exclude_type_checking_imports=True, cache_dir=None)
    edges = {
        (importer.removeprefix("tenure."), imported.removeprefix("tenure."))
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }
    parts = [part for floor in FLOORS for part in floor]
    yield "```mermaid"
    yield "flowchart TD"
    for part in parts:
        yield f'    subgraph {_id(part)}["{part}"]'
        inside = sorted({_below(part, module) for edge in edges for module in edge} - {""})
        yield from (f'        {_id(f"{part}.{room}")}["{room}"]' for room in inside)
        arrows = {(_below(part, a), _below(part, b)) for a, b in edges}
        for a, b in _needed({(a, b) for a, b in arrows if a and b and a != b}):
            yield f"        {_id(f'{part}.{a}')} --> {_id(f'{part}.{b}')}"
        yield "    end"
    between = {(_part(parts, a), _part(parts, b)) for a, b in edges}
    for a, b in _needed({(a, b) for a, b in between if a and b and a != b}):
        yield f"    {_id(a)} --> {_id(b)}"
    yield "```"


def _needed(edges: set[Edge]) -> list[Edge]:
    """The edges that do not follow from others: a picture with all of them cannot be read."""
    return sorted(edge for edge in edges if not _reaches(edges - {edge}, *edge))


def _reaches(edges: set[Edge], start: str, goal: str) -> bool:
    seen, ahead = {start}, [start]
    while ahead:
        here = ahead.pop()
        for a, b in edges:
            if a == here and b not in seen:
                seen.add(b)
                ahead.append(b)
    return goal in seen


def _part(parts: list[str], module: str) -> str:
    return next((part for part in parts if f"{module}.".startswith(f"{part}.")), "")


def _below(part: str, module: str) -> str:
    """The room of a part that a module is in; nothing for one that stands in the part itself."""
    if not module.startswith(f"{part}."):
        return ""
    room = module.removeprefix(f"{part}.").partition(".")[0]
    return room if (SOURCE / part.replace(".", "/") / room).is_dir() else ""


def _id(name: str) -> str:
    return name.replace(".", "_")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
