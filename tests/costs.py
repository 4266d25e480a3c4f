"""What a run took, told at its end: by folder, and the tests that took most.

It is the processor's time, which a busy machine changes little: of the process that runs a test, and of those
that it has waited for. What a server of PostgreSQL uses is not in it, nor what others have left running.
"""

import resource
from collections import Counter
from collections.abc import Generator

import pytest

PROCESSOR = "processor"
"""What a report has besides pytest's own: the seconds. Under xdist it travels with the report."""

MOST = 10
"""How many tests are named."""

FOLDERS = 2
"""Levels of folders that are told apart."""


class Costs:
    """Seconds of the processor, by test without its cases and by folder."""

    def __init__(self) -> None:
        self._by_test: Counter[str] = Counter()
        self._by_folder: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (took := vars(report).get(PROCESSOR)) is not None:
            self._by_test[report.nodeid.partition("[")[0]] += took
            self._by_folder[folder_of(report.nodeid)] += took

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = sum(self._by_folder.values())
        if not terminalreporter.config.getoption("costs"):
            return
        terminalreporter.section(f"{whole:.0f} seconds of the processor")
        for places, count in ((self._by_folder, None), (self._by_test, MOST)):
            for name, took in places.most_common(count):
                terminalreporter.write_line(f"{took:7.1f} s  {name}")


class Meter:
    """Measures each part of a test, from the end of the part before."""

    def __init__(self) -> None:
        self._before = 0.0
        self._is_last = False

    def pytest_runtest_logstart(self) -> None:
        self._before = _used()

    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> None:
        self._is_last = nextitem is None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # With the last test the servers end, which all tests have used.
        if call.when != "teardown" or not self._is_last:
            now = _used()
            vars(report)[PROCESSOR] = now - self._before
            self._before = now
        return report


def folder_of(nodeid: str) -> str:
    """The folder of a test, down to the level that is told."""
    return "/".join(nodeid.partition("::")[0].split("/")[:-1][: 1 + FOLDERS])


def _used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", action="store_true", help="tell what took most of the processor's time")


def pytest_configure(config: pytest.Config) -> None:
    # Under xdist its processes measure, and the one above them is told.
    config.pluginmanager.register(Meter(), "cost-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs(), "costs")
