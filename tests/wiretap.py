"""Watches what the product writes in tests: output of processes, answers of servers, captured streams.

No test has to ask for it. A canary that is seen fails the test in which it was seen.
"""

import asyncio.subprocess
import io
import os
import subprocess
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import httpx
import pytest

from tests import canaries

_STREAMS = {1: "stdout", 2: "stderr"}


class Overheard(io.TextIOWrapper):
    """A process's stream."""

    may_show_a_key = False

    def readline(self, *size: Any) -> str:  # type: ignore[override]
        return self._heard(super().readline(*size))

    def read(self, *size: Any) -> str:
        return self._heard(super().read(*size))

    def __next__(self) -> str:  # type: ignore[override]
        return self._heard(super().__next__())

    def _heard(self, text: str) -> str:
        canaries.look("a process", text, may_show_a_key=self.may_show_a_key)
        return text


def _tap_processes(patch: pytest.MonkeyPatch) -> None:
    start, communicate = subprocess.Popen.__init__, subprocess.Popen.communicate
    arrive = asyncio.subprocess.SubprocessStreamProtocol.pipe_data_received

    def started(process: Any, args: Any, *rest: Any, **named: Any) -> None:
        start(process, args, *rest, **named)
        for name in _STREAMS.values():
            if isinstance(stream := getattr(process, name), io.TextIOWrapper):
                tapped = Overheard(stream.detach(), encoding=stream.encoding, errors=stream.errors)
                tapped.may_show_a_key = makes_a_key(args)
                setattr(process, name, tapped)

    def communicated(process: Any, *given: Any, **named: Any) -> Any:
        said = communicate(process, *given, **named)
        for name, text in zip(_STREAMS.values(), said, strict=True):
            canaries.look(f"{name} of {process.args}", text or "", may_show_a_key=makes_a_key(process.args))
        return said

    def arrived(protocol: Any, descriptor: int, data: bytes) -> None:
        canaries.look(f"{_STREAMS.get(descriptor)} of a process", data)
        arrive(protocol, descriptor, data)

    patch.setattr(subprocess.Popen, "__init__", started)
    patch.setattr(subprocess.Popen, "communicate", communicated)
    patch.setattr(asyncio.subprocess.SubprocessStreamProtocol, "pipe_data_received", arrived)


def _tap_answers(patch: pytest.MonkeyPatch) -> None:
    pieces, pieces_in_time = httpx.Response.iter_raw, httpx.Response.aiter_raw

    def heard(response: httpx.Response, *size: Any) -> Iterator[bytes]:
        for piece in pieces(response, *size):
            _look_at(response, piece)
            yield piece

    async def heard_in_time(response: httpx.Response, *size: Any) -> AsyncIterator[bytes]:
        async for piece in pieces_in_time(response, *size):
            _look_at(response, piece)
            yield piece

    patch.setattr(httpx.Response, "iter_raw", heard)
    patch.setattr(httpx.Response, "aiter_raw", heard_in_time)


def _look_at(response: httpx.Response, piece: bytes) -> None:
    where = f"{response.request.method} {response.request.url.path}"
    canaries.look(f"the answer to {where}", piece)
    canaries.look(f"the headers of the answer to {where}", str(response.headers.raw))


def makes_a_key(args: Any) -> bool:
    """Whether a command is the one that shows a key: it does so once, to the caller that creates it."""
    return isinstance(args, list) and "keys" in args and "create" in args


class Wiretap:
    """Plants and listens while a session lasts."""

    def __init__(self) -> None:
        self._patch = pytest.MonkeyPatch()

    def pytest_sessionstart(self) -> None:
        os.environ[canaries.VARIABLE] = canaries.ENVIRONMENT
        _tap_processes(self._patch)
        _tap_answers(self._patch)

    def pytest_sessionfinish(self) -> None:
        self._patch.undo()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        for title, text in report.sections:
            canaries.look(title, text)
        if (seen := canaries.take_seen()) and report.passed:
            report.outcome = "failed"
            report.longrepr = "\n".join(["a secret was shown:", *seen])
        return report


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Wiretap(), "wiretap")
