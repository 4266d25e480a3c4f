"""Counts how many contract tests passed on each store, and fails a whole run in which the counts differ.

Both stores promise the same behaviour, so a contract test that runs on one of them alone is a hole.
Of PostgreSQL the suite's own server counts; `python -m tests versions` has the others.
"""

import re
from collections import Counter

import pytest

SUITE = "tests/storage/contract/"
STORES = ("sqlite", "postgres")
# A run that was narrowed by one of these may well hold tests of one store only.
SELECTIONS = ("keyword", "markexpr", "lf", "deselect", "collectonly")


class ContractCounts:
    """The contract tests that passed in this run, by store."""

    def __init__(self, config: pytest.Config) -> None:
        by_node = any("::" in argument for argument in config.args)
        self._is_whole = not by_node and not any(config.getoption(name, None) for name in SELECTIONS)
        self._passed: Counter[str] = Counter()

    @property
    def _differ(self) -> bool:
        return len({self._passed[store] for store in STORES}) > 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed and (store := store_of(report.nodeid)):
            self._passed[store] += 1

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._is_whole and self._differ and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._passed:
            return
        for store in STORES:
            terminalreporter.write_line(f"contract tests passed on {store}: {self._passed[store]}")
        if self._is_whole and self._differ:
            terminalreporter.write_line("the stores did not pass the same number of tests", red=True)


def store_of(nodeid: str) -> str | None:
    """The store a contract test ran on, as its parameters in brackets say; none for any other test."""
    _, bracket, parameters = nodeid.partition("[")
    found = re.search(rf"\b({'|'.join(STORES)})\b", parameters)
    return found[1] if bracket and found and nodeid.startswith(SUITE) else None


def pytest_configure(config: pytest.Config) -> None:
    # Under xdist each worker sees a part of the tests; only the controller sees all reports.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ContractCounts(config), "contract-counts")
