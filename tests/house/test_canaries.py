"""Planted secrets are found in all that processes write and servers answer."""

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from tenure.core.values import key_text
from tests import canaries
from tests.surfaces.command import tenure
from tests.wiretap import Wiretap

LEAK = "import os; print('it is', os.environ['TENURE_TEST_CANARY'])"


def test_the_suite_has_planted_what_it_looks_for() -> None:
    assert os.environ[canaries.VARIABLE] == canaries.ENVIRONMENT


def test_a_process_that_is_waited_for_is_heard() -> None:
    subprocess.run([sys.executable, "-c", LEAK], capture_output=True, check=True)
    [seen] = canaries.take_seen()
    assert "stdout" in seen


def test_a_process_that_is_read_line_by_line_is_heard() -> None:
    with subprocess.Popen([sys.executable, "-c", LEAK], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
    assert canaries.take_seen()


async def test_a_process_beside_the_loop_is_heard() -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LEAK, stdout=pipe)
    await process.communicate()
    assert canaries.take_seen()


class Leaking(BaseHTTPRequestHandler):
    """Answers with all that it is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_an_answer_is_heard() -> None:
    key = key_text.mint().text
    with HTTPServer(("127.0.0.1", 0), Leaking) as server, ThreadPoolExecutor() as threads:
        address = f"http://127.0.0.1:{server.server_port}"
        for secret in (canaries.PARAM, key):
            threads.submit(server.handle_request)
            httpx.get(f"{address}/?{secret}", trust_env=False)
            [seen] = canaries.take_seen()
            assert seen.startswith("the answer to GET /: ")
            assert key not in seen


def test_a_test_that_shows_a_secret_fails() -> None:
    def told(text: str) -> pytest.TestReport:
        sections = [("Captured stdout call", text)]
        return pytest.TestReport("a test", ("a.py", 1, "a"), {}, "passed", None, "call", sections)

    for text, outcome in {"nothing": "passed", f"password={canaries.PASSWORD}": "failed"}.items():
        judging = Wiretap().pytest_runtest_makereport()
        next(judging)
        with pytest.raises(StopIteration) as judged:
            judging.send(told(text))
        assert judged.value.value.outcome == outcome


def test_a_key_is_shown_to_whoever_has_it_made_and_to_nobody_else(tmp_path: Path) -> None:
    at = ("--database", f"sqlite:///{tmp_path / 'jobs.db'}")
    assert tenure(tmp_path, "migrate", *at).returncode == 0
    made = tenure(tmp_path, "keys", "create", "ci", "--scope", "read", *at).stdout
    [key] = key_text.PATTERN.finditer(made)
    assert not canaries.take_seen()
    subprocess.run(["echo", key[0]], capture_output=True, check=True)
    assert canaries.take_seen()
