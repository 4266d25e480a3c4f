"""No module of tenure imports itself by way of others, be it for types alone or from within a function."""

from collections.abc import Iterator, Mapping

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = _graph()
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert not list(_cycles(imports))


def test_imports_for_types_and_within_functions_count() -> None:
    graph = _graph()
    found = graph.find_modules_directly_imported_by
    assert "tenure.core.model.aside" in found("tenure"), "imported for types alone"
    assert "tenure.storage.sqlite.store" in found("tenure.storage.address"), "imported within a function"


def test_a_circle_is_found_with_all_its_members() -> None:
    assert list(_cycles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()})) == [["a", "b", "c"]]


def _graph() -> grimp.ImportGraph:
    # grimp's cache goes by times of files, which a switch of branches can leave behind.
    return grimp.build_graph("tenure", cache_dir=None)


def _cycles(imports: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Groups of modules in which each one leads to every other one."""
    reached = {module: _reached(imports, module) for module in imports}
    circles = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in imports
        if module in reached[module]
    }
    yield from sorted(sorted(circle) for circle in circles)


def _reached(imports: Mapping[str, set[str]], start: str) -> set[str]:
    """All modules that one leads to; itself only if it is in a circle."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = imports[ahead.pop()] - reached
        reached |= new
        ahead.extend(new)
    return reached
