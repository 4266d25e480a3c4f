"""Every bench can be imported and knows its rows. That its runs work is for `make long` to see."""

from importlib import import_module
from pkgutil import walk_packages

import pytest

import bench
from bench.program import Bench

PROGRAMS = ("growth", "http", "messages", "pages", "rivals", "schedules", "storage", "webhooks", "worker")
# They import rivals, and run in environments of their own.
SCRIPTS = "bench.peers.scripts."
MODULES = [
    module.name for module in walk_packages(bench.__path__, "bench.") if not module.name.startswith(SCRIPTS)
]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_benches_can_be_imported(name: str) -> None:
    import_module(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bench_lists_its_rows_and_takes_each(name: str) -> None:
    program: Bench = import_module(f"bench.{name}").BENCH
    assert program.name == name
    parser = program.parser()
    assert program.rows
    for row in program.rows:
        assert parser.parse_args(["--quick", "--only", row]).only == [row]
    assert program.section.goals
